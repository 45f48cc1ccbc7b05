// SPDX-License-Identifier: Apache-2.0
// A simulated job. It is prepared once, and run for several seeds.
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

// Results of all seeds.
struct SimSummary {
  std::vector<double> step_seconds;
  // Times of the steps after a job has learned speeds and links; all steps of shorter jobs.
  std::vector<double> settled_seconds;
  std::vector<double> seed_means;  // Mean of settled_seconds, by seed.
  uint32_t settled_from = 0;       // First of these steps.
  double ideal_seconds = 0;
  double wall_seconds = 0;
  uint64_t steps = 0;
  uint64_t discarded_steps = 0;
  uint32_t tolerates = 0;           // Tolerated losses at the end; the minimum over seeds.
  std::vector<uint32_t> computing;  // Workers that have a share of the work at the end, by seed.
  double batches = 0;               // Batches computed in an average step.
  std::vector<CodeChoice> chosen;   // Final choices of --code auto, by seed.
  ApproximateRecord approximate;
  std::string placement;            // ReduceJson of the first seed.
  std::vector<WorkerLine> workers;  // Means over the seeds; lost: in any of them.

  void Add(const JobPlan& plan, const SimResult& result, uint32_t seeds);
};

// kInvalidArgument: no such job can be simulated.
Result<Simulation> PrepareSimulation(const SimulateFlags& flags);
// The same on `cluster`, instead of the cluster of `flags`.
Result<Simulation> PrepareSimulation(const SimulateFlags& flags, const ClusterProfile& cluster);
// The same with training on `data`, instead of synthetic samples. Vectors have their real size on
// the links, whatever the cluster file says.
Result<Simulation> PrepareTraining(const SimulateFlags& flags, Dataset data);

// kInternal: an invariant broke. Otherwise the status of the job.
Status CheckSimulated(const SimOptions& options, const SimResult& result);
// Runs all seeds and shows progress. `trace` (may be null) records the first seed. kInternal: an
// invariant broke.
Result<SimSummary> RunSeeds(const SimulateFlags& flags, Simulation& sim, TraceRecorder* trace);

}  // namespace motley
