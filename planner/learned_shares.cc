// SPDX-License-Identifier: Apache-2.0
#include "planner/learned_shares.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "planner/job_rows.h"
#include "planner/scheme_cost.h"
#include "scheduler/learned/lease_watch.h"

namespace motley {
namespace {

constexpr int kSteps = 24;             // Steps until plans hardly change any more.
constexpr int kStepsBetweenPlans = 3;  // The same as in PlanPace.
constexpr uint64_t kDraws = 7;         // A stream apart from the draws for costs.
constexpr double kSame = 0.05;         // Speeds that differ by less are no reason for another plan.

// True if a plan with these speeds of the live workers, by which work is shared, is worth the
// change.
bool CallsForAnother(const Plan& plan, const Plan& fresh, const SchemeRequest& request,
                     const std::vector<double>& speeds) {
  const double per_partition = request.samples / request.partitions;
  const std::vector<WorkerId> live = LiveOnes(request);
  std::vector<double> of_members;
  for (const WorkerId member : plan.members) {
    const auto at = std::lower_bound(live.begin(), live.end(), member);
    MOTLEY_ASSERT(at != live.end() && *at == member);
    of_members.push_back(speeds[static_cast<size_t>(at - live.begin())]);
  }
  ReplanCase numbers;
  numbers.current_seconds = PredictStepSeconds(*plan.code, of_members, per_partition);
  numbers.fresh_seconds = PredictStepSeconds(*fresh.code, fresh.speeds, per_partition);
  numbers.remaining_steps = 1;
  return WorthReplanning(numbers);
}

// True if the link determines the step. All answers then come at about the same time, and chance
// decides which worker gets all work, so no prediction is possible.
bool LinkDecides(const std::vector<StepWorker>& workers, uint32_t partitions) {
  double link = 0, rate = 0;
  for (const StepWorker& worker : workers) {
    if (!worker.live) continue;
    link += worker.start_link_seconds + worker.message_seconds;
    rate += 1 / worker.seconds_per_partition;
  }
  return link > partitions / rate;
}

bool Differ(const std::vector<double>& a, const std::vector<double>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::abs(a[i] - b[i]) > kSame * b[i]) return true;
  }
  return false;
}

}  // namespace

Result<LearnedScheme> LearnShares(std::string_view scheme, SchemeRequest request,
                                  const PlannedCluster& cluster, uint64_t seed) {
  LearnedScheme learned;
  std::vector<LeaseHabits> habits(request.workers.size());
  request.waits.assign(habits.size(), 0);
  MOTLEY_ASSIGN_OR_RETURN(Plan plan, PlanOfJob(scheme, request));
  learned.scheme = SchemeOfPlan(scheme, plan, request);
  if (!plan.FollowsSpeeds() || LinkDecides(request.workers, request.partitions)) return learned;
  std::vector<double> judged = JobSpeeds(scheme, request);
  StepModelOptions model;
  model.late_shares = 1 - SocketPart(cluster);
  for (int step = 1; step <= kSteps; ++step) {
    Random random(seed, Stream::kSimulation, kDraws, static_cast<uint64_t>(step));
    model.truth = DrawUsual(cluster, random);
    const auto policy = learned.scheme.policy();
    StepOutcome outcome = RunStepModel(*learned.scheme.setting, *policy, model);
    learned.events += outcome.events;
    model.late = std::move(outcome.late);
    for (size_t w = 0; w < habits.size(); ++w) {
      if (outcome.answers[w].waited >= 0) habits[w].SawWait(outcome.answers[w].waited);
      request.waits[w] = habits[w].waits > 0 ? habits[w].SureWait() : request.waits[w];
    }
    if (step % kStepsBetweenPlans != 0) continue;
    const std::vector<double> speeds = JobSpeeds(scheme, request);
    if (!Differ(speeds, judged)) break;
    judged = speeds;
    MOTLEY_ASSIGN_OR_RETURN(Plan fresh, PlanOfJob(scheme, request));
    if (!CallsForAnother(plan, fresh, request, speeds)) continue;
    plan = std::move(fresh);
    learned.scheme = SchemeOfPlan(scheme, plan, request);
  }
  return learned;
}

}  // namespace motley
