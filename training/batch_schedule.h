// SPDX-License-Identifier: Apache-2.0
// Which samples make up the batch of a step: a function of (seed, step) and the partition sizes
// alone, so that neither who is there nor how work is shared ever changes it.
//
// An epoch visits every sample once, in ceil(N / batch) steps of `batch` samples (the last may be
// smaller). Samples are merged from all partitions at an even pace: sample r of partition p (in
// that epoch's random order of p) has the key (r + u_p) / n_p with a random u_p in [0, 1), and the
// batch is the next `batch` keys. So each partition contributes its proportion within about one
// sample. Equal keys: the smaller partition number first. A batch larger than N is N. All
// arithmetic is on integers: every machine agrees.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/ids.h"

namespace motley {

class BatchSchedule {
 public:
  // Partition sizes may be 0; the sum N and `batch` are > 0.
  BatchSchedule(uint64_t seed, std::vector<uint32_t> partition_sizes, uint32_t batch);

  struct Range {
    uint32_t begin = 0;  // First rank in the epoch's order of the partition.
    uint32_t count = 0;
    uint32_t before = 0;  // Of the batch, in the partitions before this one.
    uint32_t end() const { return before + count; }
  };
  // Of the batch, in partitions [first, last), of which there is one.
  static uint32_t Count(std::span<const Range> ranges, PartitionId first, PartitionId last) {
    return ranges[last - 1].end() - ranges[first].before;
  }

  uint64_t samples() const { return samples_; }  // N
  uint64_t steps_per_epoch() const;
  uint64_t epoch(StepId step) const { return step / steps_per_epoch(); }
  uint32_t batch_size(StepId step) const;  // Samples in this step's batch.
  const std::vector<uint32_t>& partition_sizes() const { return *sizes_; }

  // What each partition contributes to the batch of `step`; one range per partition. O(k log).
  std::vector<Range> Ranges(StepId step) const { return *SharedRanges(step); }
  // The same. All who ask on a thread for the last step's ranges of equal schedules share them, and
  // let them go on that thread: memory that nobody has any more is used again.
  std::shared_ptr<const std::vector<Range>> SharedRanges(StepId step) const;
  // The order of a partition's samples in an epoch: a permutation of 0..size-1.
  std::vector<uint32_t> Order(uint64_t epoch, PartitionId partition) const;

 private:
  std::vector<uint32_t> Offsets(uint64_t epoch) const;  // u_p * 2^32
  // First rank of each partition after `taken` samples of an epoch.
  void FindBegins(std::span<const uint32_t> offsets, uint64_t taken,
                  std::vector<uint32_t>& begins) const;
  uint64_t seed_;
  std::shared_ptr<const std::vector<uint32_t>> sizes_;  // Of equal ones, the same where it can be.
  uint32_t batch_;
  uint64_t samples_ = 0;
};

// Cuts N samples into k contiguous partitions whose sizes differ by at most one.
std::vector<uint32_t> PartitionSizes(uint64_t samples, uint32_t partitions);

}  // namespace motley
