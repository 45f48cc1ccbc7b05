// SPDX-License-Identifier: Apache-2.0
#include "planner/job_rows.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "coding/gradient_code.h"
#include "scheduler/placement/row_speeds.h"
#include "scheduler/step/each_step.h"
#include "scheduler/step/row_step.h"

namespace motley {
namespace {

StepScheme RowsInLists(const Plan& plan, const SchemeRequest& request) {
  EachLists each{plan.code->workers, 1, WorkLists(request.workers.size()), true};
  for (size_t i = 0; i < plan.members.size(); ++i) each.chunks[plan.members[i]] = plan.rows[i];
  StepScheme scheme;
  scheme.setting = std::make_shared<StepSetting>(RowsAsPartitions(plan, request));
  scheme.policy = [setting = scheme.setting,
                   lists = std::make_shared<const EachLists>(std::move(each))] {
    return std::make_unique<EachStep>(setting, lists);
  };
  return scheme;
}

}  // namespace

RowCode OverAll(RowCode code, const std::vector<WorkerId>& members, size_t workers) {
  if (members.size() == workers) return code;
  RowCode all = code;
  all.rows.assign(workers, {});
  if (!code.class_of.empty()) all.class_of.assign(workers, kNoClass);
  for (size_t i = 0; i < members.size(); ++i) {
    all.rows[members[i]] = std::move(code.rows[i]);
    if (!code.class_of.empty()) all.class_of[members[i]] = code.class_of[i];
  }
  if (!code.decodes) return all;
  all.decodes = [decodes = std::move(code.decodes), members](const std::vector<bool>& present) {
    std::vector<bool> rows;
    rows.reserve(members.size());
    for (const WorkerId member : members) rows.push_back(present[member]);
    return decodes(rows);
  };
  return all;
}

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

SchedulerOptions JobOptionsFor(std::string_view scheme, const SchemeRequest& request) {
  SchedulerOptions options;
  options.code = scheme;
  options.workers = static_cast<uint32_t>(request.workers.size());
  options.partitions = request.partitions;
  options.batch = static_cast<uint32_t>(std::lround(request.samples));
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

StepScheme RowScheme(const SchemeRequest& request, RowCode rows) {
  StepScheme scheme;
  scheme.setting = std::make_shared<StepSetting>(StepSetting{request.workers, HoldersOf(rows)});
  scheme.policy = [setting = scheme.setting,
                   code = std::make_shared<const RowCode>(std::move(rows))] {
    return std::make_unique<RowStep>(setting, code);
  };
  return scheme;
}

StepScheme SchemeOfPlan(const Plan& plan, const SchemeRequest& request) {
  if (plan.SeveralRows()) return RowsInLists(plan, request);
  return RowScheme(request, OverAll(RowCodeOf(plan.code), plan.members, request.workers.size()));
}

}  // namespace motley
