// SPDX-License-Identifier: Apache-2.0
#include "sim/seed_run.h"

#include <fmt/format.h>

#include <string>

#include "sim/calm_run.h"
#include "sim/checkers/shard_loss_checker.h"
#include "sim/faults/liars.h"
#include "sim/scenario.h"
#include "training/optimizers/optimizer_rule.h"

namespace motley {
namespace {

// A shard is lost if its owner and all of its followers leave before another one follows. The job's
// error then says so, and the ShardLossChecker counts the nodes that left. Nodes that leave while a
// job saves its last version are not counted, because no event reports them.
bool LostShard(const JobOptions& job, const SimResult& result) {
  const Status& why = result.job.status;
  const bool after_the_end =
      result.job.steps == job.steps && why.code() == StatusCode::kUnavailable &&
      why.ToString().find("are lost with the node that held them") != std::string::npos;
  return job.holders != JobOptions::Holders::kServer && result.live_workers > 0 &&
         (after_the_end || ShardLossChecker::IsOfLostShard(why));
}

// Adds to `wrong` what is wrong with a run besides broken invariants.
void Judge(const Scenario& scenario, const SimResult& result, std::vector<std::string>& wrong) {
  const JobOptions& job = scenario.options.job;
  if (!result.job.status.ok()) {
    if (result.live_workers == 0) return;  // A job may end without workers.
    if (LostShard(job, result)) return;
    wrong.push_back(fmt::format("the job ended with {} live workers: {}", result.live_workers,
                                result.job.status.ToString()));
    return;
  }
  if (result.job.steps != job.steps || result.job.discarded_steps != 0) {
    wrong.push_back(fmt::format("{} of {} steps were applied, {} discarded", result.job.steps,
                                job.steps, result.job.discarded_steps));
  }
  // A job whose vectors travel rounded follows a serial run only on average.
  if (SomebodyLies(scenario.options) || job.wire != WireFormat::kFloat32) return;
  // Rounding differs with the order of sums. Kinks of relu amplify it. Some optimizers make full
  // steps even of gradients that are only rounding.
  double tolerance = job.model.name.starts_with("mlp") ? 1e-3 : 1e-5;
  if (!FindOptimizerRule(job.optimizer.name)->follows_gradient) tolerance = 0.05;
  if (!(result.serial_difference <= tolerance)) {
    wrong.push_back(fmt::format("I4: the parameters are {:.3g} away from a serial run (relative)",
                                result.serial_difference));
  }
}

}  // namespace

SeedReport RunSeed(uint64_t seed, const SyncForm* sync) {
  SeedReport report;
  report.seed = seed;
  const Scenario scenario = MakeScenario(seed, sync);
  auto first = Simulate(scenario.options, scenario.data, nullptr);
  const auto second = Simulate(scenario.options, scenario.data, nullptr);
  if (!first.ok()) {
    if (first.code() == StatusCode::kInvalidArgument && second.code() == first.code()) {
      report.reached["code refused"] = 1;
    } else {
      report.violations.push_back(first.status().ToString());
    }
    return report;
  }
  report.digest = first->digest;
  report.tasks_run = first->tasks_run;
  report.virtual_seconds = first->virtual_seconds;
  report.reached = first->reached;
  report.violations = first->violations;
  if (LostShard(scenario.options.job, *first)) ++report.reached["shard lost with its followers"];
  Judge(scenario, *first, report.violations);
  const bool comparable = !SomebodyLies(scenario.options);
  if (comparable && CompareWithCalm(scenario, *first, report.violations))
    ++report.reached["equal to the bit"];
  if (scenario.options.trainer != SimTrainer::kBuiltIn) ++report.reached["the caller's trainer"];
  if (!second.ok() || second->digest != first->digest) {
    report.violations.push_back("the second run of the same seed has another digest");
  }
  return report;
}

}  // namespace motley
