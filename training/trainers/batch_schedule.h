// SPDX-License-Identifier: Apache-2.0
// How the partitions of a data set, contiguous and in order, share the batch of each step.
// step_batch.h chooses the samples of the batch; partitions never change that choice. Several steps
// in a row may share a batch (`turns`), each with other partitions of it. If the last batch of an
// epoch has fewer samples, then fewer steps share it, so that each has a fair part:
//
//   N = 100, batch 30, turns 3: 3 3 3 and 1 steps
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/ids.h"
#include "training/trainers/step_batch.h"

namespace motley {

class BatchSchedule {
 public:
  // Partition sizes may be 0. Their sum N is from 1 to 2^32, and `batch` >= `turns` > 0.
  BatchSchedule(uint64_t seed, std::vector<uint32_t> partition_sizes, uint32_t batch,
                uint32_t turns = 1);

  // The samples of one partition in a batch, as ranks in the batch.
  struct Range {
    uint32_t begin = 0;
    uint32_t count = 0;
    uint32_t end() const { return begin + count; }
  };
  // Samples of the batch in partitions [first, last); at least one partition.
  static uint32_t Count(std::span<const Range> ranges, PartitionId first, PartitionId last) {
    return ranges[last - 1].end() - ranges[first].begin;
  }

  uint64_t seed() const { return seed_; }
  uint64_t samples() const { return layout_->first.back(); }  // N
  uint64_t steps_per_epoch() const;
  uint64_t epoch(StepId step) const { return step / steps_per_epoch(); }
  uint32_t batch_size(StepId step) const;  // Samples in this step's batch.
  uint32_t turns(StepId step) const;       // The steps that share this step's batch.
  const std::vector<uint32_t>& partition_sizes() const { return layout_->sizes; }
  // Position in the data set of the partition's first sample.
  uint64_t first_sample(PartitionId partition) const { return layout_->first[partition]; }

  // One range per partition: its samples in the batch of `step`. O(k).
  std::vector<Range> Ranges(StepId step) const { return *SharedRanges(step); }
  // Like Ranges. Equal schedules on a thread share the ranges of the last step. Release them on
  // that thread, so that their memory is reused.
  std::shared_ptr<const std::vector<Range>> SharedRanges(StepId step) const;

  // The batch: maps the ranks of a range to positions in the data set.
  StepBatch At(StepId step) const { return {seed_, samples(), batch_, BatchOf(step)}; }
  // All positions of the batch, in the order of their ranks.
  std::vector<uint32_t> Rows(StepId step) const;

 private:
  struct Layout {
    std::vector<uint32_t> sizes;
    std::vector<uint64_t> first;  // One more than partitions: the end.
  };
  struct Recent;
  static Recent& recent();
  // Batches count on from epoch to epoch, as steps do.
  StepId BatchOf(StepId step) const {
    if (turns_ == 1) return step;
    return epoch(step) * batches_per_epoch() + step % steps_per_epoch() / turns_;
  }
  uint64_t batches_per_epoch() const { return StepBatch::StepsPerEpoch(samples(), batch_); }

  uint64_t seed_;
  std::shared_ptr<const Layout> layout_;  // Shared by equal schedules where possible.
  uint32_t batch_;
  uint32_t turns_;  // With more than one, steps are not names of TurnOf.
};

// Cuts N samples into k contiguous partitions whose sizes differ by at most one.
std::vector<uint32_t> PartitionSizes(uint64_t samples, uint32_t partitions);

}  // namespace motley
