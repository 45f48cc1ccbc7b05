// SPDX-License-Identifier: Apache-2.0
#include "planner/step_schemes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "coding/gradient_code.h"
#include "planner/fair_loads.h"
#include "planner/job_rows.h"
#include "scheduler/step/adaptive_step.h"
#include "scheduler/step/pieces.h"

namespace motley {
namespace {

// The least speed of a code stands for a worker that is to get nothing.
constexpr double kNothing = 1e-6;
// Workers with lists send about as many messages each, or keep as many rows, because publications
// assume that messages are free.
constexpr uint32_t kPublishedMessages = 32, kPublishedKept = 12;

std::vector<double> AsSpeeds(const std::vector<uint32_t>& loads) {
  std::vector<double> speeds;
  speeds.reserve(loads.size());
  for (const uint32_t load : loads) speeds.push_back(std::max<double>(load, kNothing));
  return speeds;
}

// The code of a publication. Its speeds are loads that also suit the workers' links and overheads.
Result<CodeForm> RowsWithLoads(const Scheme& scheme, const SchemeRequest& request) {
  CodeRequest code;
  code.parts = scheme.Parts(request.copies);
  MOTLEY_ASSIGN_OR_RETURN(const FairLoads fair,
                          ShareFairly(request, request.copies, 1.0 / code.parts));
  code.speeds = AsSpeeds(fair.loads);
  code.stragglers = scheme.Tolerates(request.copies);
  code.partitions = request.partitions;
  code.seed = request.seed;
  code.messages = scheme.sharing == Sharing::kKeptRows ? kPublishedKept : kPublishedMessages;
  return BuildCode(scheme.name, code);
}

// The figures that a job's leases have learned about these workers after some steps. They see each
// worker while all workers use the server's link at once.
StepSetting AsLearned(StepSetting setting) {
  double start_link = 0, link = 0;
  for (const StepWorker& worker : setting.workers) {
    start_link += worker.start_link_seconds;
    link += worker.message_seconds;
  }
  const double share = static_cast<double>(setting.holders.size()) / setting.workers.size();
  for (StepWorker& worker : setting.workers) {
    const double piece = std::max({1.0, worker.least_piece, share / kPartsOfTheRest});
    worker.seconds_per_partition *= std::max(1.0, worker.piece_knee / piece);
    worker.seconds_per_partition += worker.piece_overhead_seconds / piece;
    worker.report_every = static_cast<uint32_t>(std::lround(piece));
    worker.overhead_seconds += ReadySeconds(worker, start_link);
    worker.send_seconds = std::max(worker.send_seconds + worker.message_seconds, link);
    worker.start_seconds = worker.start_link_seconds = worker.message_seconds = 0;
  }
  setting.least_pace_seconds = kLeastPaceSeconds;
  return setting;
}

Result<StepScheme> Adaptive(const SchemeRequest& request) {
  MOTLEY_ASSIGN_OR_RETURN(FairLoads fair, ShareFairly(request, 1, 1));
  BalancedShares shares;
  shares.partitions = std::move(fair.loads);
  MOTLEY_ASSIGN_OR_RETURN(Placement placement, PlaceCopies(fair.request, shares));
  StepScheme scheme;
  StepSetting setting{request.workers, std::move(placement.holders)};
  if (request.by_speed) setting = AsLearned(std::move(setting));
  scheme.setting = std::make_shared<StepSetting>(std::move(setting));
  scheme.policy = [setting = scheme.setting] { return std::make_unique<AdaptiveStep>(*setting); };
  return scheme;
}

Result<Plan> PlanOf(const Scheme& scheme, const SchemeRequest& request) {
  if (request.by_speed) return PlanOfJob(scheme.name, request);
  MOTLEY_ASSIGN_OR_RETURN(CodeForm form, RowsWithLoads(scheme, request));
  Plan plan;
  plan.rows = RowLists(form);
  plan.code = std::make_shared<const CodeForm>(std::move(form));
  plan.members.resize(request.workers.size());
  std::iota(plan.members.begin(), plan.members.end(), 0);
  return plan;
}

}  // namespace

Status CheckStepRequest(const Scheme& scheme, const SchemeRequest& request) {
  const auto live = std::count_if(request.workers.begin(), request.workers.end(),
                                  [](const StepWorker& worker) { return worker.live; });
  if (request.copies < scheme.least_copies) {
    return Status::InvalidArgument(fmt::format("{} needs {} copies of each partition, not {}",
                                               scheme.name, scheme.least_copies, request.copies));
  }
  if (!scheme.keeps_copies && request.copies != 1) {
    return Status::InvalidArgument(
        fmt::format("{} has one copy of each partition, not {}: ask for copies 1, or for adaptive",
                    scheme.name, request.copies));
  }
  if (live < request.copies) {
    return Status::InvalidArgument(
        fmt::format("{} copies of each partition need as many workers, and {} are there",
                    request.copies, live));
  }
  if (request.partitions >= request.workers.size()) return Status::Ok();
  return Status::InvalidArgument(
      fmt::format("{} partitions are too few for {} workers: at least one each", request.partitions,
                  request.workers.size()));
}

Result<StepScheme> MakeStepScheme(std::string_view name, const SchemeRequest& request) {
  std::string names;
  for (const Scheme& scheme : Schemes()) {
    if (scheme.least_copies == 0) continue;
    if (name == scheme.name) {
      MOTLEY_RETURN_IF_ERROR(CheckStepRequest(scheme, request));
      if (scheme.leases()) return Adaptive(request);
      MOTLEY_ASSIGN_OR_RETURN(const Plan plan, PlanOf(scheme, request));
      return SchemeOfPlan(name, plan, request);
    }
    names += names.empty() ? scheme.name : fmt::format(", {}", scheme.name);
  }
  return Status::NotFound(fmt::format("there is no scheme \"{}\"; there are: {}", name, names));
}

}  // namespace motley
