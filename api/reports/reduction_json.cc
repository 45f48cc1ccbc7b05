// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/reports/notice_text.h"
#include "scheduler/placement/shard_ranges.h"

namespace motley {

std::string ReductionJson(const JobNotice& notice, const std::string& text,
                          const NameOfWorker& name_of) {
  nlohmann::ordered_json json;
  if (std::holds_alternative<notice::StarKept>(notice)) {
    json = {{"by", "star"}, {"why", text}};
  } else if (const auto* placed = std::get_if<notice::VectorPlaced>(&notice)) {
    const ReduceChoice& choice = placed->choice;
    ReduceMode mode{choice.kind, 0};
    const ShardShares shares = SharesOf(choice.ranges, placed->nodes.size());
    if (choice.kind == Reduce::kSharded) {
      mode.servers = static_cast<uint32_t>(
          std::count_if(shares.begin(), shares.end(), [](double share) { return share > 0; }));
    }
    json = {{"by", NameOf(mode)}, {"why", text}, {"seconds", choice.cost.Total()}};
    if (choice.reason.kind != ReduceReason::Kind::kAsked) {
      json["star_seconds"] = choice.reason.star.Total();
      json["other_seconds"] = choice.reason.other.Total();
    }
    for (size_t i = 0; i < shares.size(); ++i) {
      if (shares[i] == 0) continue;
      json["parts"].push_back(
          {{"node", WorkersText({placed->nodes[i]}, name_of)}, {"part", shares[i]}});
    }
  } else {
    return "";
  }
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace motley
