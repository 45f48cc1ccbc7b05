// SPDX-License-Identifier: Apache-2.0
// A job of `motley simulate` on its made-up data: made ready once, and run for several seeds.
#pragma once

#include <optional>
#include <vector>

#include "api/reports/job_report.h"
#include "api/request/job_plan.h"
#include "cli/commands/simulate_command.h"
#include "cli/machine/replay_file.h"
#include "cli/report/trace.h"
#include "sim/sim_cluster.h"

namespace motley {

struct Simulation {
  JobPlan plan;
  SimOptions options;
  Dataset data;
  std::optional<ReplayFile> replay;
};

// All seeds together.
struct SimSummary {
  std::vector<double> step_seconds;
  // Of those after which a job has learned speeds and links; of all, in shorter jobs.
  std::vector<double> settled_seconds;
  std::vector<double> seed_means;  // Mean of these, by seed.
  uint32_t settled_from = 0;       // Step.
  double ideal_seconds = 0;
  double wall_seconds = 0;
  uint64_t steps = 0;
  uint64_t discarded_steps = 0;
  uint32_t tolerates = 0;           // At the end of a job; the least of all seeds.
  std::vector<uint32_t> computing;  // By seed: workers that have a share of the work at the end.
  double batches = 0;               // That were computed in a step, on average.
  std::vector<CodeChoice> chosen;   // By seed: what --code auto came to.
  ApproximateRecord approximate;
  std::vector<WorkerLine> workers;  // Means over the seeds; lost: in any of them.

  void Add(const JobPlan& plan, const SimResult& result, uint32_t seeds);
};

// kInvalidArgument when no such job can be simulated.
Result<Simulation> PrepareSimulation(const SimulateFlags& flags);
// On this cluster, in the place of what flags say of one.
Result<Simulation> PrepareSimulation(const SimulateFlags& flags, const ClusterProfile& cluster);

// Shows progress. `trace`, if any, records the first seed. kInternal when an invariant broke.
Result<SimSummary> RunSeeds(const SimulateFlags& flags, Simulation& sim, TraceRecorder* trace);

}  // namespace motley
