// SPDX-License-Identifier: Apache-2.0
// Fair shares for schemes that give out all of their work when a step begins.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "planner/step_schemes.h"
#include "scheduler/placement/load_balance.h"

namespace motley {

// The part of a step, in seconds, in which each worker cannot compute: it waits for the parameters,
// or must be done because its vector has to arrive. Vectors have `fraction` of a gradient and pass
// the server's link one at a time, that of the slowest worker first, so that fast workers lose the
// least time. Workers with a `share` of 0 send nothing. With an empty `share` all send.
std::vector<double> SendSeconds(const std::vector<StepWorker>& workers, double fraction,
                                const std::vector<uint32_t>& share);

// Shares of partitions * copies, at most `partitions` per worker, with which all workers end
// sending at the same time, as far as whole partitions allow. Workers that are not live have no
// share. Neither have workers that would only delay others: those that are far away, or too many
// for the server's link. The request's workers say what their vectors cost.
struct FairLoads {
  std::vector<uint32_t> loads;
  ShareRequest request;  // For PlaceCopies: one copy, and all live workers are present.
};
Result<FairLoads> ShareFairly(const SchemeRequest& request, uint32_t copies, double fraction);

}  // namespace motley
