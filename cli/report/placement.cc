// SPDX-License-Identifier: Apache-2.0
#include "cli/report/placement.h"

#include <fmt/format.h>

namespace motley {
namespace {

constexpr size_t kMostListed = 16;

std::string Ms(double seconds) {
  const double ms = seconds * 1e3;
  return fmt::format("{:.{}f} ms", ms, ms >= 100 ? 0 : ms >= 10 ? 1 : ms >= 1 ? 2 : 3);
}

std::string Size(double bytes) {
  if (bytes >= 1e6) return fmt::format("{:.3g} MB", bytes / 1e6);
  return bytes >= 1e3 ? fmt::format("{:.3g} kB", bytes / 1e3) : fmt::format("{:.0f} bytes", bytes);
}

const char* WhoSums(Reduce kind) {
  if (kind == Reduce::kStar) return "the server sums";
  return kind == Reduce::kDirect ? "the workers sum" : "server processes sum";
}

}  // namespace

std::string ReduceHelp() {
  return "Where the vector is summed, and parameters come from:\n"
         "    star: the server\n"
         "  direct: the workers, each a range that suits its link\n"
         "  sharded:S: S server processes, each on a machine with a link like the server's\n"
         "    auto: the server or the workers, whichever takes less time";
}

std::string PlacedVector::Text(const ReduceChoice& choice) const {
  const ReduceReason& reason = choice.reason;
  std::string text = fmt::format(
      "--reduce {}: {} the vector of {}{}. If all workers take part, that takes {} of a "
      "step",
      NameOf({choice.kind, servers}), WhoSums(choice.kind), Size(bytes),
      choice.kind == Reduce::kStar ? "" : ", each a range that suits its link",
      Ms(choice.cost.Total()));
  if (choice.kind != Reduce::kStar) {
    text += fmt::format(", and the server alone would need {}", Ms(reason.star.Total()));
  } else if (reason.kind == ReduceReason::Kind::kMessages) {
    text += fmt::format(
        ". Workers would have its bytes in {} instead of {}, but latencies and messages would take "
        "them {} instead of {}",
        Ms(reason.other.exchange.total), Ms(reason.star.exchange.total), Ms(reason.other.messages),
        Ms(reason.star.messages));
  } else if (reason.kind == ReduceReason::Kind::kNoGain && workers.size() > 1) {
    text += ", and the workers would not be clearly faster";
  }
  if (reason.narrowest) {
    text += fmt::format(". The link of {} needs all of this time for one vector",
                        workers.at(*reason.narrowest));
  }
  return text + "\n";
}

std::string PlacedVector::Shares(const ReduceChoice& choice) const {
  std::string text;
  size_t listed = 0;
  for (const ShardRange& range : choice.ranges) {
    if (listed++ == kMostListed) {
      text += fmt::format(" and {} more", choice.ranges.size() - kMostListed);
      break;
    }
    const std::string name = range.owner < workers.size()
                                 ? workers[range.owner]
                                 : fmt::format("server {}", range.owner - workers.size());
    const double part =
        static_cast<double>(range.size()) / static_cast<double>(choice.ranges.back().end);
    text += fmt::format("{}{} {:.1f} %", text.empty() ? "" : ", ", name, 100 * part);
  }
  return text;
}

}  // namespace motley
