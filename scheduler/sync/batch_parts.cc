// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sync/batch_parts.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace motley {
namespace {

// Speeds this near to the average count as the average. Parts are whole partitions, so they would
// rather follow the noise of measurements than such a difference.
constexpr double kNear = 0.1;

}  // namespace

BatchPart BatchParts::Next(WorkerId worker, const std::vector<WorkerId>& workers,
                           const std::vector<double>& speeds) const {
  const uint32_t later = turns_ - turn_ - 1;
  const uint32_t left = partitions_ - first_;
  if (later == 0 || workers.empty()) return {first_, partitions_};
  const double mean =
      std::accumulate(speeds.begin(), speeds.end(), 0.0) / static_cast<double>(speeds.size());
  const auto speed_of = [&](size_t i) {
    return std::abs(speeds[i] - mean) <= kNear * mean ? mean : speeds[i];
  };
  double own = mean, others = 0;
  uint32_t known = 0;
  for (size_t i = 0; i < workers.size(); ++i) {
    if (workers[i] == worker) {
      own = speed_of(i);
    } else if (!had_turn_[workers[i]] && known < later) {
      others += speed_of(i);
      ++known;
    }
  }
  others += mean * (later - known);
  const auto count = static_cast<uint32_t>(std::lround(left * own / (own + others)));
  return {first_, first_ + std::clamp(count, 1U, left - later)};
}

void BatchParts::Took(WorkerId worker, const BatchPart& part) {
  had_turn_[worker] = true;
  first_ = part.last;
  if (++turn_ < turns_) return;
  turn_ = 0;
  first_ = 0;
  std::fill(had_turn_.begin(), had_turn_.end(), false);
}

}  // namespace motley
