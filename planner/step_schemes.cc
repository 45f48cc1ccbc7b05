// SPDX-License-Identifier: Apache-2.0
#include "planner/step_schemes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "coding/gradient_code.h"
#include "coding/placement/cyclic_walk.h"
#include "planner/fair_loads.h"
#include "planner/job_rows.h"
#include "scheduler/step/adaptive_step.h"
#include "scheduler/step/approximate_step.h"
#include "scheduler/step/each_step.h"
#include "scheduler/step/partial_step.h"
#include "scheduler/step/pieces.h"

namespace motley {
namespace {

// The least speed of a code stands for a worker that is to get nothing.
constexpr double kNothing = 1e-6;
// Messages of a multi-message step occupy at most this part of it on the server's link, unless two
// messages per worker already take more.
constexpr double kMessagesPart = 0.5;
constexpr uint32_t kLeastMessages = 2;

std::vector<double> AsSpeeds(const std::vector<uint32_t>& loads) {
  std::vector<double> speeds;
  speeds.reserve(loads.size());
  for (const uint32_t load : loads) speeds.push_back(std::max<double>(load, kNothing));
  return speeds;
}

// The speeds of a code are the loads, which also suit the workers' links and overheads.
Result<CodeRequest> CodeRequestOf(const SchemeRequest& request, double fraction) {
  MOTLEY_ASSIGN_OR_RETURN(const FairLoads fair, ShareFairly(request, request.copies, fraction));
  CodeRequest code;
  code.speeds = AsSpeeds(fair.loads);
  code.stragglers = request.copies - 1;
  code.partitions = request.partitions;
  code.seed = request.seed;
  return code;
}

Result<StepScheme> AsJob(std::string_view scheme, const SchemeRequest& request) {
  MOTLEY_ASSIGN_OR_RETURN(const Plan plan, PlanOfJob(scheme, request));
  return SchemeOfPlan(plan, request);
}

Result<StepScheme> Coded(std::string_view name, const SchemeRequest& request) {
  if (request.by_speed) return AsJob(name, request);
  MOTLEY_ASSIGN_OR_RETURN(const CodeRequest code, CodeRequestOf(request, 1));
  MOTLEY_ASSIGN_OR_RETURN(CodeForm form, BuildCode(name, code));
  return RowScheme(request, RowCodeOf(std::make_shared<const CodeForm>(std::move(form))));
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

// Lays the loads out in one cyclic walk over the chunks, in the order of the workers. Among equally
// covered chunks each worker starts with the last one of its stretch.
Result<WorkLists> OrderedLists(const SchemeRequest& request, double fraction) {
  MOTLEY_ASSIGN_OR_RETURN(const FairLoads fair, ShareFairly(request, request.copies, fraction));
  WorkLists lists;
  uint64_t next = 0;
  std::vector<double> speeds;
  for (WorkerId w = 0; w < request.workers.size(); ++w) {
    auto& list = lists.emplace_back();
    for (uint64_t i = fair.loads[w]; i-- > 0;) {
      list.push_back(static_cast<PartitionId>((next + i) % request.partitions));
    }
    next += fair.loads[w];
    speeds.push_back(1 / request.workers[w].seconds_per_partition);
  }
  return LeastCoveredFirst(std::move(lists), speeds);
}

std::vector<std::vector<WorkerId>> HoldersOf(const WorkLists& lists, uint32_t partitions,
                                             uint32_t size) {
  std::vector<std::vector<WorkerId>> holders(partitions);
  for (WorkerId w = 0; w < lists.size(); ++w) {
    for (const PartitionId chunk : lists[w]) {
      const uint32_t end = std::min((chunk + 1) * size, partitions);
      for (PartitionId p = chunk * size; p < end; ++p) holders[p].push_back(w);
    }
  }
  return holders;
}

// Partitions per message: as few as the server's link allows.
uint32_t MessageSize(const SchemeRequest& request) {
  double rate = 0, message = 0;
  uint32_t live = 0;
  for (const StepWorker& worker : request.workers) {
    if (!worker.live) continue;
    ++live;
    rate += 1 / worker.seconds_per_partition;
    message += worker.message_seconds;
  }
  if (live == 0 || !(message > 0)) return 1;
  const double mean = message / live * request.copies;
  const double most =
      std::max<double>(kLeastMessages * live, kMessagesPart * request.partitions / rate / mean);
  return static_cast<uint32_t>(
      std::ceil(request.partitions / std::min<double>(most, request.partitions)));
}

Result<StepScheme> MultiMessage(std::string_view name, const SchemeRequest& request) {
  if (request.by_speed) return AsJob(name, request);
  const uint32_t size = MessageSize(request);
  SchemeRequest chunks = request;
  chunks.partitions = (request.partitions + size - 1) / size;
  for (StepWorker& worker : chunks.workers) worker.seconds_per_partition *= size;
  MOTLEY_ASSIGN_OR_RETURN(WorkLists lists, OrderedLists(chunks, 1));
  StepScheme scheme;
  scheme.setting = std::make_shared<StepSetting>(
      StepSetting{request.workers, HoldersOf(lists, request.partitions, size)});
  EachLists each{request.partitions, size, std::move(lists)};
  scheme.policy = [setting = scheme.setting,
                   lists = std::make_shared<const EachLists>(std::move(each))] {
    return std::make_unique<EachStep>(setting, lists);
  };
  return scheme;
}

StepScheme PartialScheme(StepSetting setting, WorkLists lists, uint32_t parts) {
  StepScheme scheme;
  scheme.setting = std::make_shared<StepSetting>(std::move(setting));
  scheme.policy = [setting = scheme.setting,
                   lists = std::make_shared<const WorkLists>(std::move(lists)),
                   parts] { return std::make_unique<PartialStep>(setting, lists, parts); };
  return scheme;
}

Result<StepScheme> PartialCoded(const Scheme& scheme, const SchemeRequest& request) {
  if (request.by_speed) {
    MOTLEY_ASSIGN_OR_RETURN(const Plan plan, PlanOfJob(scheme.name, request));
    if (plan.code->kept_parts == 0) return SchemeOfPlan(plan, request);
    WorkLists lists(request.workers.size());
    for (size_t i = 0; i < plan.members.size(); ++i) lists[plan.members[i]] = plan.rows[i];
    return PartialScheme(RowsAsPartitions(plan, request), std::move(lists), plan.code->kept_parts);
  }
  const uint32_t parts = scheme.Parts(std::max(request.copies, 2U));
  MOTLEY_ASSIGN_OR_RETURN(WorkLists lists, OrderedLists(request, 1.0 / parts));
  StepSetting setting{request.workers, HoldersOf(lists, request.partitions, 1)};
  return PartialScheme(std::move(setting), std::move(lists), parts);
}

// Rows as jobs make them. A step has enough with all rows except for those that may be missing, as
// in scheduler/rows/early_end.h for a job without a quorum.
Result<StepScheme> Approximate(const Scheme& scheme, const SchemeRequest& request) {
  std::shared_ptr<const CodeForm> form;
  std::vector<WorkerId> members(request.workers.size());
  std::iota(members.begin(), members.end(), 0);
  if (request.by_speed) {
    MOTLEY_ASSIGN_OR_RETURN(Plan plan, PlanOfJob(scheme.name, request));
    form = plan.code;
    members = std::move(plan.members);
  } else {
    MOTLEY_ASSIGN_OR_RETURN(const CodeRequest code, CodeRequestOf(request, 1));
    MOTLEY_ASSIGN_OR_RETURN(CodeForm built, BuildCode(scheme.name, code));
    form = std::make_shared<const CodeForm>(std::move(built));
  }
  const auto busy = static_cast<uint32_t>(std::count_if(
      form->rows.begin(), form->rows.end(), [](const auto& row) { return !row.empty(); }));
  ApproximateLimits limits;
  limits.quorum = busy - std::min(busy - 1, scheme.Tolerates(request.copies));
  const auto rows =
      std::make_shared<const RowCode>(OverAll(RowCodeOf(form), members, request.workers.size()));
  StepScheme made;
  made.setting = std::make_shared<StepSetting>(StepSetting{request.workers, HoldersOf(*rows)});
  made.policy = [setting = made.setting, form, rows, limits] {
    return std::make_unique<ApproximateStep>(setting, form, rows, limits);
  };
  return made;
}

Result<StepScheme> Short(const Scheme& scheme, const SchemeRequest& request) {
  if (request.by_speed) return AsJob(scheme.name, request);
  const uint32_t stragglers = scheme.Tolerates(request.copies);
  const uint32_t parts = scheme.Parts(request.copies);
  MOTLEY_ASSIGN_OR_RETURN(CodeRequest wanted, CodeRequestOf(request, 1.0 / parts));
  wanted.stragglers = stragglers;
  wanted.parts = parts;
  MOTLEY_ASSIGN_OR_RETURN(CodeForm form, BuildCode(scheme.name, wanted));
  return RowScheme(request, RowCodeOf(std::make_shared<const CodeForm>(std::move(form))));
}

// Makes the policy that suits the kind of work and the condition for enough of it.
Result<StepScheme> Make(const Scheme& scheme, const SchemeRequest& request) {
  if (scheme.leases()) return Adaptive(request);
  if (!scheme.exact) return Approximate(scheme, request);
  if (scheme.sharing == Sharing::kKeptRows) return PartialCoded(scheme, request);
  if (scheme.sharing == Sharing::kRowList) return MultiMessage(scheme.name, request);
  if (scheme.has_parts) return Short(scheme, request);
  return Coded(scheme.name, request);
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
      return Make(scheme, request);
    }
    names += names.empty() ? scheme.name : fmt::format(", {}", scheme.name);
  }
  return Status::NotFound(fmt::format("there is no scheme \"{}\"; there are: {}", name, names));
}

}  // namespace motley
