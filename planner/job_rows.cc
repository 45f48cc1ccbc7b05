// SPDX-License-Identifier: Apache-2.0
#include "planner/job_rows.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "planner/engine_step.h"
#include "scheduler/placement/row_speeds.h"

namespace motley {
namespace {

// The workers of a job in which each worker holds what its rows need.
JobState JobOf(const Plan& plan, SchedulerOptions options, const SchemeRequest& request) {
  JobState job(std::move(options));
  for (const WorkerId w : LiveOnes(request)) {
    job.members.Join(w, 1, job.now);
    const double speed = job.samples_per_partition() / request.workers[w].seconds_per_partition;
    job.members.Free(WorkerFree{w, 0, Duration::zero(), speed}, job.now);
    for (const RowId row : plan.RowsOf(w)) {
      for (const CodeEntry& entry : plan.code->rows[row]) {
        job.members[w].holds[entry.partition] = true;
      }
    }
  }
  job.plan_void = false;
  return job;
}

// A row of several is a partition of the step model.
StepSetting RowsAsPartitions(const Plan& plan, const SchemeRequest& request) {
  const uint32_t rows = plan.code->workers;
  const double size = 1.0 * request.partitions / rows;
  StepSetting setting{request.workers, {}};
  setting.holders.resize(rows);
  for (const auto& row : plan.code->rows) {
    setting.work.push_back(static_cast<double>(row.size()) / size);
  }
  for (StepWorker& worker : setting.workers) {
    worker.seconds_per_partition *= size;
    worker.piece_knee /= size;
    worker.least_piece /= size;
  }
  for (size_t i = 0; i < plan.members.size(); ++i) {
    for (const RowId row : plan.rows[i]) setting.holders[row].push_back(plan.members[i]);
  }
  return setting;
}

StepSetting OneRowEach(const Plan& plan, const SchemeRequest& request) {
  StepSetting setting{request.workers, {}};
  setting.holders.resize(plan.code->partitions);
  for (size_t i = 0; i < plan.members.size(); ++i) {
    for (const RowId row : plan.rows[i]) {
      for (const CodeEntry& entry : plan.code->rows[row]) {
        setting.holders[entry.partition].push_back(plan.members[i]);
      }
    }
  }
  return setting;
}

}  // namespace

SchedulerOptions JobOptionsFor(std::string_view scheme, const SchemeRequest& request) {
  SchedulerOptions options;
  options.code = scheme;
  options.workers = static_cast<uint32_t>(request.workers.size());
  options.partitions = request.partitions;
  options.batch = request.partitions;
  if (request.samples > 0) options.batch = static_cast<uint32_t>(std::lround(request.samples));
  options.seed = request.seed;
  const Scheme& traits = SchemeNamed(scheme);
  options.tolerate = traits.Tolerates(request.copies);
  if (traits.has_parts) options.parts = traits.Parts(request.copies);
  return options;
}

std::vector<WorkerId> LiveOnes(const SchemeRequest& request) {
  std::vector<WorkerId> live;
  for (WorkerId w = 0; w < request.workers.size(); ++w) {
    if (request.workers[w].live) live.push_back(w);
  }
  return live;
}

std::vector<double> JobSpeeds(std::string_view scheme, const SchemeRequest& request) {
  const SchedulerOptions options = JobOptionsFor(scheme, request);
  const double samples = request.samples / request.partitions;
  std::vector<double> speeds, waits;
  for (const WorkerId w : LiveOnes(request)) {
    speeds.push_back(samples / request.workers[w].seconds_per_partition);
    waits.push_back(request.waits.empty() ? 0 : request.waits[w]);
  }
  return SpeedsWithWaits(
      speeds, waits,
      request.samples * SchemeNamed(options.code).Computed(options.tolerate, options.parts),
      request.samples);
}

Result<Plan> PlanOfJob(std::string_view scheme, const SchemeRequest& request) {
  const SchedulerOptions options = JobOptionsFor(scheme, request);
  const std::vector<WorkerId> members = LiveOnes(request);
  const std::vector<double> speeds = JobSpeeds(scheme, request);
  PlanAttempt attempt = {options.code, options.tolerate, false, request.draft};
  Result<Plan> plan = MakePlanOf(attempt, options, members, speeds);
  if (plan.ok() || !SchemeNamed(scheme).keeps_copies) return plan;
  attempt.equal = true;
  Result<Plan> equal = MakePlanOf(attempt, options, members, speeds);
  return equal.ok() ? std::move(equal) : std::move(plan);
}

StepScheme SchemeOfPlan(std::string_view name, const Plan& plan, const SchemeRequest& request) {
  StepScheme scheme;
  scheme.setting = std::make_shared<StepSetting>(
      plan.SeveralRows() ? RowsAsPartitions(plan, request) : OneRowEach(plan, request));
  const auto start = std::make_shared<const EngineStart>(
      EngineStart{JobOf(plan, JobOptionsFor(name, request), request), plan, RowCodeOf(plan.code),
                  request.by_speed || plan.code->kept_parts > 0});
  scheme.policy = [start] { return std::make_unique<EngineStep>(start); };
  return scheme;
}

}  // namespace motley
