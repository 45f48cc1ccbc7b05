// SPDX-License-Identifier: Apache-2.0
// `motley plan`: which scheme suits a cluster, what it costs and what it insures against.
#pragma once

#include <cstdint>
#include <string>

#include "scheduler/planner.h"

namespace motley {

struct PlanFlags {
  std::string cluster;  // Profile file.
  uint32_t batch = 256;
  uint64_t steps = 1000;
  double loss_rate = 0;   // Of a worker, per step.
  double data_bytes = 0;  // Of the whole data set.
  uint32_t copies = 3;    // At most.
  bool explain = false;
  bool json = false;
};

// The exit code.
int RunPlan(const PlanFlags& flags);

// The choice and the next best; with `explain` everything that was tried.
std::string PlanText(const Ranking& ranking, const std::string& cluster, bool explain);
std::string PlanJson(const Ranking& ranking, const std::string& cluster);

}  // namespace motley
