// SPDX-License-Identifier: Apache-2.0
// A yardstick for steps: what perfectly divisible work would take behind a cluster's links. Pure.
#pragma once

#include <vector>

#include "profiles/profile.h"

namespace motley {

// Seconds of a step of so many samples, without noise, overhead and codes. Each worker that takes
// part receives vectors of `vector_bytes` over its link before it computes, and sends one after.
// The server's link carries them one after the other: whoever is fastest is served first, and
// answers last. Workers that would only occupy the link take no part.
double IdealStepSeconds(const std::vector<WorkerProfile>& workers, const ServerRates& server,
                        double vector_bytes, double samples);

}  // namespace motley
