// SPDX-License-Identifier: Apache-2.0
// Which samples make up the batch of a step: a function of the seed, the step, the number of
// samples N and the batch size b alone. Partitions, workers and codes never change it.
//
// An epoch visits every sample once, in ceil(N / b) steps of b samples; the last step has the rest.
// Each epoch cuts the data set into b runs of neighbours, as equal as possible, at places that it
// draws anew (the first and the last samples may be one run). Every step takes one sample of each
// run, in the run's own random order. The last step takes what is left of the longer runs. So
//  - a contiguous part of the data set has its share of every batch, to within one at each end,
//  - a batch of data that are sorted by label has every label in proportion,
//  - every sample is equally likely in every step.
// Example: N = 10, b = 4 may cut [0 1][2 3 4][5 6][7 8 9]; the steps of that epoch may be
// {1 4 5 8}, {0 2 6 9}, {3 7}.
//
// All arithmetic is on integers: every machine agrees. A batch larger than N is N.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"

namespace motley {

// A value; any sample of the batch is found in constant time and memory. Samples are numbered by
// their position in the data set, and ranked by it within the batch.
class StepBatch {
 public:
  // 0 < samples <= 2^32, batch > 0.
  StepBatch(uint64_t seed, uint64_t samples, uint32_t batch, StepId step);

  static uint64_t StepsPerEpoch(uint64_t samples, uint32_t batch) {
    return samples / batch + (samples % batch != 0 ? 1 : 0);
  }

  uint32_t size() const { return all_runs_ ? runs_ : longer_; }
  // The sample of rank `rank` < size().
  uint64_t Sample(uint32_t rank) const;
  // How many samples of the batch come before `position` <= N.
  uint32_t Before(uint64_t position) const;
  // Appends Sample(rank) - first for `count` ranks from `begin` on.
  void AppendRows(uint32_t begin, uint32_t count, uint64_t first,
                  std::vector<uint32_t>& rows) const;

 private:
  // Neighbours. Their places count from shift_ on, around the end of the data set, so that no run
  // goes beyond N.
  struct Run {
    uint64_t index;
    uint64_t begin;
    uint64_t size;
  };
  Run RunAt(uint64_t index) const;
  bool TakesPart(const Run& run) const { return turn_ < run.size; }
  uint64_t PlaceOf(const Run& run) const;  // Of its sample.
  uint32_t BeforePlace(uint64_t place) const;
  uint64_t IndexOf(uint32_t rank) const;  // Counts those runs alone that take part.

  uint64_t samples_;
  uint32_t runs_;       // b, or N when that is less.
  uint64_t shorter_;    // Samples of a run, of which the
  uint32_t longer_;     // longer ones, so many, have one more.
  uint64_t turn_;       // The step within its epoch.
  bool all_runs_;       // Or the longer ones only.
  uint64_t epoch_key_;  // The runs' orders come from it.
  uint64_t shift_;      // At most as long as the last run, which alone goes around the end.
  uint32_t phase_;      // Below b: which runs are the longer ones.
  bool around_;         // The sample of the last run is at the front of the data set,
  uint64_t front_ = 0;  // here.
};

}  // namespace motley
