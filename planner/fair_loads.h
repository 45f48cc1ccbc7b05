// SPDX-License-Identifier: Apache-2.0
// How much each worker is to have when a scheme gives out its work once, at the beginning.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "planner/step_schemes.h"
#include "scheduler/placement/load_balance.h"

namespace motley {

// How long of a step each worker cannot compute, because it waits for the parameters or must be
// done before the end, for vectors of `fraction` of a gradient that come over the server's link one
// after the other, the slowest worker's first (so that time is lost where it is worth least). Those
// with a `share` of 0 send nothing; an empty `share` stands for everybody.
std::vector<double> SendSeconds(const std::vector<StepWorker>& workers, double fraction,
                                const std::vector<uint32_t>& share);

// Shares of partitions * copies with nobody above `partitions`, such that all are done sending at
// the same time as nearly as whole partitions allow. Whoever is not live has none, and so have
// workers that would only get in the way of others: far off, or too many for the server's link.
// The request's workers know what their vectors cost.
struct FairLoads {
  std::vector<uint32_t> loads;
  ShareRequest request;  // Of one copy, everybody that lives present: for PlaceCopies.
};
Result<FairLoads> ShareFairly(const SchemeRequest& request, uint32_t copies, double fraction);

}  // namespace motley
