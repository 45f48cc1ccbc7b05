// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/predict_command.h"

#include "cli/report/scores.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/output_file.h"
#include "fmt/core.h"
#include "motley/motley.h"
#include "nlohmann/json.hpp"

namespace motley {
namespace {

Status CheckOutput(const PredictFlags& flags) {
  if (flags.out == "-") return Status::Ok();
  MOTLEY_RETURN_IF_ERROR(CheckApartFromData("--out", flags.out, flags.data));
  MOTLEY_RETURN_IF_ERROR(CheckApart("--out", flags.out, "--model", flags.model));
  return CheckReplaced("--out", flags.out);
}

motley_predict_options OptionsOf(const PredictFlags& flags) {
  motley_predict_options options MOTLEY_PREDICT_OPTIONS_INIT;
  options.model = flags.model.c_str();
  options.data = flags.data.c_str();
  options.label = flags.label.c_str();
  options.probabilities = flags.probabilities ? 1 : 0;
  options.notice = [](void*, const motley_event* event) { Warn(event->text); };
  return options;
}

int WritePredictions(const PredictFlags& flags) {
  if (flags.out == "-" && flags.json) {
    Warn("--json and --out - cannot both be given: leave one of them out.");
    return kExitUsage;
  }
  if (const Status output = CheckOutput(flags); !output.ok()) {
    Warn(output.ToString());
    return ExitCodeOf(static_cast<motley_status>(output.code()));
  }
  motley_predict_options options = OptionsOf(flags);
  options.out = flags.out.c_str();
  motley_evaluation found MOTLEY_EVALUATION_INIT;
  uint64_t rows = 0;
  const motley_status status = motley_predict(&options, &found, &rows);
  if (status != MOTLEY_OK) return FailOfLibrary(status);
  const char* evaluation = found.count > 0 ? motley_last_evaluation() : nullptr;
  if (flags.json) {
    nlohmann::ordered_json json = {{"predictions", rows}, {"out", flags.out}};
    if (evaluation != nullptr) json.update(nlohmann::ordered_json::parse(evaluation));
    return PrintResult(json.dump(2) + "\n");
  }
  const std::string tested = evaluation != nullptr ? EvaluationText(evaluation) : "";
  if (flags.out != "-") {
    return PrintResult(fmt::format("{} prediction{} written to {}\n{}", rows, rows == 1 ? "" : "s",
                                   flags.out, tested));
  }
  if (!tested.empty()) Warn(tested.substr(0, tested.size() - 1));
  return kExitOk;
}

}  // namespace

int RunPredict(const PredictFlags& flags) {
  if (!flags.out.empty()) return WritePredictions(flags);
  motley_evaluation found MOTLEY_EVALUATION_INIT;
  const motley_predict_options options = OptionsOf(flags);
  const motley_status status = motley_predict(&options, &found, nullptr);
  if (status != MOTLEY_OK) return FailOfLibrary(status);
  const char* evaluation = motley_last_evaluation();
  return PrintResult(flags.json ? evaluation : EvaluationText(evaluation));
}

}  // namespace motley
