// SPDX-License-Identifier: Apache-2.0
// `motley plan`: which scheme suits a cluster, what it costs and what it insures against.
#pragma once

#include <cstdint>
#include <string>

#include "scheduler/choose.h"

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

// The choice and the best; with `explain` everything that was tried.
std::string PlanText(const Ranking& ranking, const JobChoice& choice, const std::string& cluster,
                     bool explain);
std::string PlanJson(const Ranking& ranking, const JobChoice& choice, const std::string& cluster);

}  // namespace motley
