// SPDX-License-Identifier: Apache-2.0
// What answers say of the loss and weight of their samples (base/tally.h), held against what the
// schedule knows, and the weight that an update divides by (docs/decisions/0023). Pure.
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

// Samples that each partition has in a step's batch, where all of them weigh 1; null where the
// caller's trainer says what they weigh, or their classes have weights.
using KnownCounts = std::shared_ptr<const std::vector<BatchSchedule::Range>>;

// kDataError: not finite, or so large that sums of it would not be.
Status CheckTally(const Tally& tally);
// The tally of an answer to this row, or of a vector over these partitions. kDataError as above, or
// when the counts are known and the weight is not theirs: samples are missing or count twice.
Status CheckTally(const Tally& tally, const KnownCounts& counts, const CodeForm& form, RowId row);
Status CheckTally(const Tally& tally, const KnownCounts& counts,
                  std::span<const PartitionId> partitions);

// What the decoded sum of a step is divided by: the weight of the whole batch, `samples` of them.
// Exact steps have it in their tally. An approximate one (else null) covers partition j alpha_j
// times: its weight per covered sample stands for that of the batch, which is `samples` where each
// weighs 1. 0 when nothing of the batch was covered, or all of it weighs 0: the mean is 0 then.
// kDataError: a sum of weights is negative; kInternal: the counts are known, and the weight of an
// exact step is not theirs.
Result<double> BatchWeight(const Tally& tally, double samples, bool counts_known,
                           std::span<const BatchSchedule::Range> ranges,
                           const ApproximateSum* approximate);

}  // namespace motley
