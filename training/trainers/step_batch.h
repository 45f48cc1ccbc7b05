// SPDX-License-Identifier: Apache-2.0
// The samples in the batch of a step: a function of only the seed, the step, the number of samples
// N and the batch size b. Partitions, workers and codes never change it.
//
// An epoch visits every sample once, in ceil(N / b) steps of b samples; the last step has the rest.
// Each epoch cuts the data set into b runs of adjacent samples, as equal as possible, at random
// places. (The first and the last samples may form one run.) Every step takes one sample of each
// run, in the run's own random order. The last step takes what is left of the longer runs. It
// follows that
// - a contiguous part of the data set has its share of every batch, to within one at each end,
// - a batch of data that are sorted by label has every label in proportion,
// - every sample is equally likely in every step.
// Example: N = 10, b = 4 may cut [0 1][2 3 4][5 6][7 8 9]; the steps of that epoch may be {1 4 5
// 8}, {0 2 6 9}, {3 7}.
//
// All arithmetic is on integers, so every machine agrees. A batch larger than N is N.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"

namespace motley {

// A part of a step's batch, for workers that take several steps of their own on it: of the samples
// by rank, every `turns`-th from number `turn` on. It has a name like a step, so that it is used
// like the batch of one. For example, turn 1 of 3 of ranks 0 to 7 has 1, 4 and 7.
inline constexpr uint32_t kMostTurns = (1U << 12) - 1;
// Precondition: turn < turns <= kMostTurns.
StepId TurnOf(StepId step, uint32_t turn, uint32_t turns);
// The step itself, of a step or of a part.
StepId WholeStep(StepId step);

// A value type. Any sample of the batch is found in constant time and memory. Samples are numbered
// by their position in the data set, and ranked by it within the batch.
class StepBatch {
 public:
  // 0 < samples <= 2^32, batch > 0.
  StepBatch(uint64_t seed, uint64_t samples, uint32_t batch, StepId step);

  static uint64_t StepsPerEpoch(uint64_t samples, uint32_t batch) {
    return samples / batch + (samples % batch != 0 ? 1 : 0);
  }

  uint32_t size() const { return OfTurn(all_runs_ ? runs_ : longer_); }
  // The sample of rank `rank` < size().
  uint64_t Sample(uint32_t rank) const;
  // How many samples of the batch come before `position` <= N.
  uint32_t Before(uint64_t position) const;
  // Appends Sample(rank) - first for `count` ranks from `begin` on.
  void AppendRows(uint32_t begin, uint32_t count, uint64_t first,
                  std::vector<uint32_t>& rows) const;

 private:
  // A run of adjacent samples. Places count from shift_ on, around the end of the data set, so that
  // no run crosses N.
  struct Run {
    uint64_t index;
    uint64_t begin;
    uint64_t size;
  };
  // How many of the first `ranks` ranks of the whole batch belong to this part.
  uint32_t OfTurn(uint32_t ranks) const {
    return ranks > part_ ? (ranks - part_ - 1) / parts_ + 1 : 0;
  }
  Run RunAt(uint64_t index) const;
  bool TakesPart(const Run& run) const { return turn_ < run.size; }
  uint64_t PlaceOf(const Run& run) const;  // Place of the run's sample.
  uint32_t BeforePlace(uint64_t place) const;
  uint64_t IndexOf(uint32_t rank) const;  // Counts only runs that take part.

  uint64_t samples_;
  uint32_t runs_;       // b, or N if that is less.
  uint64_t shorter_;    // Samples of a short run.
  uint32_t longer_;     // Number of runs with one more sample.
  uint64_t turn_;       // Step within its epoch.
  bool all_runs_;       // False: only the longer runs take part.
  uint64_t epoch_key_;  // Source of the runs' orders.
  uint64_t shift_;      // At most the length of the last run, the only one that crosses the end.
  uint32_t phase_;      // Below b; selects which runs are longer.
  bool around_;         // The last run's sample is at the front of the data set.
  uint64_t front_ = 0;  // Position of that sample.
  uint32_t part_ = 0, parts_ = 1;  // See TurnOf.
};

}  // namespace motley
