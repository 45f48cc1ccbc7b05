// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sync/batch_parts.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace motley {
namespace {

// Speeds this near to the average count as the average. Parts are whole partitions, so they would
// rather follow the noise of measurements than such a difference.
constexpr double kNear = 0.1;

}  // namespace

BatchParts::BatchParts(uint32_t workers, SharedBatches batches)
    : batches_(std::move(batches)), had_turn_(workers) {
  BeginBatch();
}

void BatchParts::BeginBatch() {
  const SharedBatch batch = batches_(all_turns_);
  turns_ = batch.turns;
  before_.assign(1, 0);
  for (const uint32_t samples : batch.samples) before_.push_back(before_.back() + samples);
}

BatchPart BatchParts::Next(WorkerId worker, const std::vector<WorkerId>& workers,
                           const std::vector<double>& speeds) const {
  const uint32_t later = turns_ - turn_ - 1;
  const auto part = [this](PartitionId last) {
    return BatchPart{first_, last, before_[last] - before_[first_]};
  };
  if (later == 0 || workers.empty()) return part(static_cast<PartitionId>(before_.size() - 1));
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
  const auto left = static_cast<double>(before_.back() - before_[first_]);
  return part(Cut(left * own / (own + others), later));
}

// The end of a part with about so many samples, before so many later ones.
PartitionId BatchParts::Cut(double samples, uint32_t later) const {
  const auto partitions = static_cast<PartitionId>(before_.size() - 1);
  const auto has_samples = [this](PartitionId p) { return before_[p + 1] > before_[p]; };
  PartitionId least = first_ + 1;
  while (least < partitions - later && !has_samples(least - 1)) ++least;
  // Each later part needs a partition, which has samples if there are enough of these.
  PartitionId most = partitions;
  for (uint32_t parts = 0; most > least && parts < later;) {
    if (has_samples(--most)) ++parts;
  }
  most = std::min(most, partitions - later);
  // The nearest of the possible ends.
  PartitionId end = least;
  const double wanted = static_cast<double>(before_[first_]) + samples;
  while (end < most && static_cast<double>(before_[end] + before_[end + 1]) <= 2 * wanted) ++end;
  return end;
}

void BatchParts::Took(WorkerId worker, const BatchPart& part) {
  had_turn_[worker] = true;
  first_ = part.last;
  if (++turn_ < turns_) return;
  all_turns_ += turns_;
  turn_ = 0;
  first_ = 0;
  std::fill(had_turn_.begin(), had_turn_.end(), false);
  BeginBatch();
}

}  // namespace motley
