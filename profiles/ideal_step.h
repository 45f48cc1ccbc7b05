// SPDX-License-Identifier: Apache-2.0
// A lower bound for step times: perfectly divisible work behind a cluster's links. Pure.
#pragma once

#include <vector>

#include "profiles/profile.h"

namespace motley {

// The seconds of a step without noise, overhead and codes. Each participating worker receives
// vectors of `vector_bytes` over its link before it computes, and sends one afterwards. The
// server's link carries them one after the other; the fastest worker is served first and answers
// last. Workers that would only occupy the link do not participate.
double IdealStepSeconds(const std::vector<WorkerProfile>& workers, const ServerRates& server,
                        double vector_bytes, double samples);

}  // namespace motley
