// SPDX-License-Identifier: Apache-2.0
// Checks the loss and weight that answers declare for their samples (base/tally.h) against the
// schedule, and computes the weight that an update divides by (docs/decisions/0023). Pure.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "base/tally.h"
#include "coding/code_form.h"
#include "runtime/job.h"
#include "training/trainers/batch_schedule.h"

namespace motley {

// Samples of each partition in a step's batch, if each weighs 1. Null if the caller's trainer
// defines their weights, or if classes have weights.
using KnownCounts = std::shared_ptr<const std::vector<BatchSchedule::Range>>;

// kDataError: the tally is not finite, or so large that sums of it would not be.
Status CheckTally(const Tally& tally);
// Checks the tally of an answer to this row, or of a vector over these partitions. kDataError as
// above, or when the counts are known and give another weight: samples are missing or count twice.
Status CheckTally(const Tally& tally, const KnownCounts& counts, const CodeForm& form, RowId row);
Status CheckTally(const Tally& tally, const KnownCounts& counts,
                  std::span<const PartitionId> partitions);

// The divisor for the decoded sum of a step: the weight of the whole batch of `samples` samples. An
// exact step has it in its tally. An approximate step (else null) covers partition j alpha_j times.
// Its weight per covered sample then stands for the whole batch, which weighs `samples` if each
// sample weighs 1. The result is 0 when nothing of the batch was covered or all of it weighs 0; the
// mean is then 0. kDataError: a sum of weights is negative. kInternal: the counts are known, and an
// exact step has another weight.
Result<double> BatchWeight(const Tally& tally, double samples, bool counts_known,
                           std::span<const BatchSchedule::Range> ranges,
                           const ApproximateSum* approximate);

// The number of samples that a step's mean gradient is as precise as: all of its batch if it is
// exact (null). An approximate step counts partition j, of n_j samples, alpha_j times, and the
// result is (sum_j alpha_j n_j)^2 / sum_j alpha_j^2 n_j (Kish 1965). If all that is counted counts
// alike, that is its number of samples: partitions of 10, 6, 8 and 8, the first left out and the
// others counted 4/3 times, have 22. The result is 0 if nothing was covered.
double EffectiveSamples(std::span<const BatchSchedule::Range> ranges,
                        const ApproximateSum* approximate);

}  // namespace motley
