// SPDX-License-Identifier: Apache-2.0
#include "sim/calm_run.h"

#include <algorithm>

#include "coding/schemes.h"
#include "sim/faults/random_fault.h"

namespace motley {
namespace {

// The same scenario with nothing going wrong.
Scenario Calm(Scenario scenario) {
  SimOptions& options = scenario.options;
  options.random_faults = RandomFaults();
  options.faults.clear();
  options.power_cuts = PowerCuts();
  options.job.checkpoint = CheckpointOptions();
  options.link_jitter_seconds = 0;
  for (WorkerProfile& worker : options.cluster.workers) worker.device.jitter = 0;
  return scenario;
}

// The first plan was kept to the end.
bool PlanStayed(const SimResult& run) {
  const std::vector<WorkerStats>& workers = run.job.scheduler.workers;
  return run.job.status.ok() && run.job.scheduler.replans == 0 &&
         !run.reached.contains("code compromised") &&
         std::all_of(workers.begin(), workers.end(), [](const WorkerStats& worker) {
           return worker.joined && !worker.lost && !worker.left;
         });
}

// Both plans have the same workers. A worker that is not ready when the job starts has no share.
bool SamePlan(const SimResult& a, const SimResult& b) {
  return std::ranges::equal(
      a.job.scheduler.workers, b.job.scheduler.workers,
      [](const WorkerStats& x, const WorkerStats& y) { return (x.share > 0) == (y.share > 0); });
}

}  // namespace

bool CompareWithCalm(const Scenario& scenario, const SimResult& result,
                     std::vector<std::string>& wrong) {
  const JobOptions& job = scenario.options.job;
  const uint32_t rows =
      job.most_workers > 0 ? std::min(job.workers, job.most_workers) : job.workers;
  const Scheme& scheme = SchemeNamed(job.code);
  const bool disjoint = !scheme.keeps_copies || scheme.sharing == Sharing::kRowList ||
                        (job.code == "repetition" && rows % (job.tolerate + 1) == 0);
  if (job.sync.one_each) return false;  // The result depends on who answered first.
  if (!disjoint || job.shares != Shares::kEqual || !PlanStayed(result)) return false;
  // The order of a list decides how it is rounded.
  if (job.wire != WireFormat::kFloat32 && scheme.sharing == Sharing::kRowList) return false;
  // Joined devices divide the samples by time, so their sums depend on who was done first.
  if (!scenario.options.second_devices.empty()) return false;
  // A device that hung early may be missing in the first plan.
  if (result.reached.contains("device broke")) return false;
  // The results of earlier incarnations have counts, but do not say who was there from the start.
  const auto kinds = FaultKinds();
  const bool late = std::any_of(kinds.begin(), kinds.end(), [&](const FaultKind* kind) {
    return kind->delays_start && scenario.options.random_faults.*kind->every > 0;
  });
  if (scenario.options.power_cuts.most > 0 && late) return false;
  for (const char* change : {"worker lost", "replanned after a loss", "replanned for speed"}) {
    if (scenario.options.power_cuts.most > 0 && result.reached.contains(change)) return false;
  }
  const Scenario calm = Calm(scenario);
  const auto reference = Simulate(calm.options, calm.data, nullptr);
  if (!reference.ok()) {
    wrong.push_back("without faults: " + reference.status().ToString());
  } else if (!PlanStayed(*reference) || !SamePlan(result, *reference)) {
    return false;
  } else if (*reference->job.parameters != *result.job.parameters) {
    wrong.push_back("I4: the parameters are not bit-equal to those of a run without faults");
  }
  return true;
}

}  // namespace motley
