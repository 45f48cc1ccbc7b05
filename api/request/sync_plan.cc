// SPDX-License-Identifier: Apache-2.0
#include "api/request/sync_plan.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/counted.h"
#include "base/suggest.h"
#include "fmt/core.h"
#include "training/optimizers/optimizer.h"
#include "training/optimizers/rate_schedule.h"

namespace motley {
namespace {

// The outer optimizer of DiLoCo (arXiv 2311.08105).
constexpr double kOuterRate = 0.7;
constexpr double kOuterMomentum = 0.9;
constexpr double kLeastOuterRate = 1e-45, kMostOuterRate = 100;  // A float is 0 below the least.
constexpr uint64_t kMostInRound = uint64_t{1} << 31;             // Samples.

Status CheckScheduleOfLocalSteps(const JobRequest& request) {
  const std::string& schedule = request.optimizer.schedule;
  MOTLEY_ASSIGN_OR_RETURN(const RateSchedule parsed, ParseSchedule(schedule));
  if (!schedule.starts_with("plateau") || !parsed.follows_batches()) return Status::Ok();
  return Status::InvalidArgument(fmt::format(
      "`schedule` {} with `sync` {}: plateau lowers the rate of all workers' updates, and linear=N "
      "and sqrt=N change that of each worker's own steps. Use one of these, not both",
      schedule, request.sync));
}

// Without a barrier, options about the answers that steps wait for have no meaning.
Status CheckWithoutBarrier(const JobRequest& request) {
  const bool tolerates = !request.open.tolerate && request.tolerate > 0;
  if (!tolerates && request.quorum == 0 && request.step_deadline.empty()) return Status::Ok();
  return Status::InvalidArgument(fmt::format(
      "`{}`: with `sync` {} each answer is an update of its own, so there are no codes, and "
      "no step waits for several answers. Leave it out, or use `sync` bsp",
      tolerates            ? "tolerate"
      : request.quorum > 0 ? "quorum"
                           : "step_deadline",
      request.sync));
}

}  // namespace

Status PlanSync(const JobRequest& request, JobOptions& job) {
  MOTLEY_ASSIGN_OR_RETURN(job.sync, ParseSyncMode(request.sync));
  if (job.sync.local_steps == 0 && (request.outer_rate != 0 || request.outer_momentum != 0)) {
    return Status::InvalidArgument(
        fmt::format("`{}`: it is for `sync` local:H, where updates apply what workers' own steps "
                    "changed. Leave it out",
                    request.outer_rate != 0 ? "outer_rate" : "outer_momentum"));
  }
  // Optimizers compute with float, where a number may round to one that is not possible.
  const double rate = request.outer_rate, momentum = std::max(request.outer_momentum, 0.0);
  if (rate != 0 && !(rate >= kLeastOuterRate && rate <= kMostOuterRate)) {
    return Status::InvalidArgument(fmt::format("`outer_rate` {}: it must be from {} to {}", rate,
                                               kLeastOuterRate, kMostOuterRate));
  }
  if (!(momentum < 1 && static_cast<float>(momentum) < 1)) {
    return Status::InvalidArgument(
        fmt::format("`outer_momentum` {}: it must be below 1 (in float32)", momentum));
  }
  MOTLEY_RETURN_IF_ERROR(CheckChoice("`staleness`", request.staleness, {"none", "rate", "gap"}));
  job.old_gradients = request.staleness == "rate"  ? OldGradients::kRate
                      : request.staleness == "gap" ? OldGradients::kGap
                                                   : OldGradients::kAsOthers;
  const bool treats = job.old_gradients != OldGradients::kAsOthers;
  if (treats && !TakesStaleness(job.sync)) {
    return Status::InvalidArgument(fmt::format(
        "`staleness` {}: {}. Leave `staleness` out, or use another `sync` without a barrier, "
        "such as asp",
        request.staleness,
        job.sync.own_momentum ? "with `sync` dana the momenta look ahead instead"
                              : "gradients are never old if all workers share each update"));
  }
  if (job.sync.own_momentum && request.open.optimizer) job.optimizer.name = "nag";
  if (!job.sync.answers_differ()) return Status::Ok();
  const bool local = job.sync.local_steps > 0;
  if (!local) MOTLEY_RETURN_IF_ERROR(CheckWithoutBarrier(request));
  if (local) MOTLEY_RETURN_IF_ERROR(CheckScheduleOfLocalSteps(request));
  if (job.code == "auto") job.code = local ? "approximate" : "none";  // A round ends without some.
  if (local && request.open.tolerate) job.tolerate = 0;
  if (request.audit <= 0) job.audit_fraction = 0;
  return Status::Ok();
}

Status PlanLocalSteps(const JobRequest& request, JobOptions& job) {
  if (job.sync.local_steps == 0) return Status::Ok();
  const uint64_t samples = uint64_t{request.batch} * job.sync.local_steps * job.workers;
  if (samples > kMostInRound) {
    return Status::InvalidArgument(fmt::format(
        "`sync` {}: a round of {} with a `batch` of {} has {} samples, and at most {} are "
        "possible. Take fewer steps, or a smaller `batch`",
        request.sync, Counted(job.workers, "worker"), request.batch, samples, kMostInRound));
  }
  job.batch = static_cast<uint32_t>(samples);
  job.local = {request.batch, request.optimizer, job.sync.local_ahead};
  OptimizerOptions outer{.name = "nag"};
  outer.learning_rate = request.outer_rate > 0 ? request.outer_rate : kOuterRate;
  outer.momentum =
      request.outer_momentum != 0 ? std::max(request.outer_momentum, 0.0) : kOuterMomentum;
  // Only the server knows the losses that plateau follows, so it lowers the outer rate.
  if (request.optimizer.schedule.starts_with("plateau")) {
    std::swap(outer.schedule, job.local.optimizer.schedule);
  }
  job.optimizer = outer;
  return Optimizer::Create(outer, 0).status();
}

void ShareBatches(uint64_t samples, JobOptions& job) {
  if (job.batch == 1) return;
  const uint64_t most = std::min(samples, kMostInRound) / job.batch;
  job.turns = static_cast<uint32_t>(std::clamp<uint64_t>(most, 1, job.workers));
  job.batch *= job.turns;
}

}  // namespace motley
