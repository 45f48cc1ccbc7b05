// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/flag_words.h"

#include <algorithm>
#include <array>

namespace motley {
namespace {

// Options with the words that set them on the command line: a flag or an environment variable.
struct FlagWord {
  std::string_view option;
  std::string_view flag;
};
constexpr std::array kWords = {
    FlagWord{"audit", "--audit"},
    FlagWord{"batch", "--batch"},
    FlagWord{"beta1", "--beta1"},
    FlagWord{"beta2", "--beta2"},
    FlagWord{"checkpoint", "--checkpoint"},
    FlagWord{"checkpoint_code", "--checkpoint-code"},
    FlagWord{"checkpoint_every", "--checkpoint-every"},
    FlagWord{"class_weights", "--class-weights"},
    FlagWord{"clip", "--clip"},
    FlagWord{"code", "--code"},
    FlagWord{"data", "--data"},
    FlagWord{"decimal", "--decimal"},
    FlagWord{"devices", "--devices"},
    FlagWord{"drop", "--drop"},
    FlagWord{"dropout", "--dropout"},
    FlagWord{"epochs", "--epochs"},
    FlagWord{"epsilon", "--epsilon"},
    FlagWord{"evaluate_every", "--evaluate-every"},
    FlagWord{"evaluate_training", "--evaluate-training"},
    FlagWord{"fastest", "--fastest"},
    FlagWord{"faults", "--fault"},
    FlagWord{"followers", "--followers"},
    FlagWord{"format", "--format"},
    FlagWord{"init", "--init"},
    FlagWord{"l2", "--l2"},
    FlagWord{"label", "--label"},
    FlagWord{"learning_rate", "--lr"},
    FlagWord{"listen", "--listen"},
    FlagWord{"memory_bytes", "--memory"},
    FlagWord{"min_workers", "--min-workers"},
    FlagWord{"missing", "--missing"},
    FlagWord{"model", "--model"},
    FlagWord{"momentum", "--momentum"},
    FlagWord{"name", "--name"},
    FlagWord{"optimizer", "--optimizer"},
    FlagWord{"parts", "--parts"},
    FlagWord{"outer_momentum", "--outer-momentum"},
    FlagWord{"outer_rate", "--outer-rate"},
    FlagWord{"patience", "--patience"},
    FlagWord{"probabilities", "--probabilities"},
    FlagWord{"quorum", "--quorum"},
    FlagWord{"record_profile", "--record-profile"},
    FlagWord{"reduce", "--reduce"},
    FlagWord{"resume", "--resume"},
    FlagWord{"resume_step", "--resume-step"},
    FlagWord{"sample_time", "--sample-time"},
    FlagWord{"scale", "--scale"},
    FlagWord{"schedule", "--schedule"},
    FlagWord{"seed", "--seed"},
    FlagWord{"server", "--server"},
    FlagWord{"shares", "--shares"},
    FlagWord{"split", "--split"},
    FlagWord{"staleness", "--staleness"},
    FlagWord{"step_deadline", "--step-deadline"},
    FlagWord{"step_limit", "--step-limit"},
    FlagWord{"steps", "--steps"},
    FlagWord{"sync", "--sync"},
    FlagWord{"threads", "--threads"},
    FlagWord{"storage", "--storage"},
    FlagWord{"task", "--task"},
    FlagWord{"token", "MOTLEY_TOKEN"},
    FlagWord{"tolerate", "--tolerate"},
    FlagWord{"validation", "--validation"},
    FlagWord{"wait", "--wait"},
    FlagWord{"weight_decay", "--weight-decay"},
    FlagWord{"wire", "--wire"},
    FlagWord{"worker_speeds", "--worker-speeds"},
    FlagWord{"workers", "--workers"},
};

}  // namespace

std::string WithFlags(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t begin = text.find('`');
    const size_t end = begin == text.npos ? text.npos : text.find('`', begin + 1);
    if (end == text.npos) break;
    const std::string_view option = text.substr(begin + 1, end - begin - 1);
    const auto* word = std::find_if(kWords.begin(), kWords.end(),
                                    [&](const FlagWord& each) { return each.option == option; });
    out += text.substr(0, begin);
    if (word == kWords.end()) {
      out += '`';
      text.remove_prefix(begin + 1);  // The second one may begin a word.
    } else {
      out += word->flag;
      text.remove_prefix(end + 1);
    }
  }
  return out.append(text);
}

}  // namespace motley
