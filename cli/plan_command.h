// SPDX-License-Identifier: Apache-2.0
// `motley plan`: which scheme suits a cluster, what it costs and what it insures against.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "scheduler/choose.h"
#include "sim/simulated_scheme.h"

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

// What a job without --code would choose from the same knowledge, and why.
struct JobChoice {
  Candidate candidate;
  std::string why;
};
// kInvalidArgument when no job can run on the cluster.
Result<JobChoice> ChoiceOfJob(const Ranking& ranking, const PlannedCluster& cluster);

struct PlanReport {
  SimulatedPlan plan;
  JobChoice choice;
  std::string cluster;
  double ideal_seconds = 0;                  // Of a step of perfectly divisible work; 0: not known.
  std::optional<SimulatedScheme> automatic;  // What a job without --code comes to, learning all.
};

// The choice and the best; with `explain` everything that was tried.
std::string PlanText(const PlanReport& plan, bool explain);
std::string PlanJson(const PlanReport& plan);

}  // namespace motley
