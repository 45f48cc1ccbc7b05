// SPDX-License-Identifier: Apache-2.0
// `motley simulate`: the same job and policies on virtual time, for a described cluster.
#pragma once

#include <cstdint>
#include <string>

#include "cli/job_flags.h"

namespace motley {

struct SimulateFlags {
  JobFlags job;
  std::string cluster;  // Profile file; empty: --worker-speeds.
  uint32_t seeds = 1;
};

// The exit code.
int RunSimulate(const SimulateFlags& flags);

}  // namespace motley
