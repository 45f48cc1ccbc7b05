// SPDX-License-Identifier: Apache-2.0
#include "cli/job_flags.h"

#include <algorithm>
#include <utility>

#include "cli/parse.h"
#include "coding/gradient_code.h"
#include "fmt/core.h"

namespace motley {
namespace {

Result<uint32_t> WorkerCount(const JobFlags& flags, size_t speeds, uint32_t elsewhere) {
  if (elsewhere > 0) {
    if (flags.workers > 0 && flags.workers != elsewhere) {
      return Status::InvalidArgument(
          fmt::format("--workers {}: the cluster file has {} workers. Leave --workers out",
                      flags.workers, elsewhere));
    }
    return elsewhere;
  }
  if (speeds == 0) return flags.workers > 0 ? flags.workers : 2;
  if (flags.workers > 0 && flags.workers != speeds) {
    return Status::InvalidArgument(fmt::format(
        "--workers {} does not fit --worker-speeds {}: that has {} speed{}. Give one speed per "
        "worker, or leave --workers out",
        flags.workers, flags.speeds, speeds, speeds == 1 ? "" : "s"));
  }
  return static_cast<uint32_t>(speeds);
}

Status CheckNames(const JobFlags& flags) {
  std::vector<std::string> codes;
  for (const GradientCode& code : GradientCodes()) codes.push_back(code.name);
  MOTLEY_RETURN_IF_ERROR(CheckChoice("--code", flags.code, codes));
  MOTLEY_RETURN_IF_ERROR(CheckChoice("--shares", flags.shares, {"proportional", "equal"}));
  const std::string model = flags.model.substr(0, flags.model.find(':'));
  MOTLEY_RETURN_IF_ERROR(CheckChoice("--model", model, {"softmax", "logistic", "linear", "mlp"}));
  return CheckChoice("--optimizer", flags.optimizer.name, {"sgd", "momentum", "nag", "adam"});
}

// Whether the code can serve at all the limited number of workers, before anything is read or
// started.
Status CheckCode(const JobPlan& plan) {
  const uint32_t workers = plan.job.workers;
  if (plan.job.tolerate >= workers) {
    return Status::InvalidArgument(fmt::format(
        "--tolerate {}: with {} worker{} at most {} can be missing. Use --tolerate {}, or more "
        "workers",
        plan.job.tolerate, workers, workers == 1 ? "" : "s", workers - 1, workers - 1));
  }
  CodeRequest request;
  request.speeds = plan.speeds;
  if (plan.speeds.empty() || plan.job.shares == Shares::kEqual) request.speeds.assign(workers, 1);
  request.stragglers = plan.job.tolerate;
  request.partitions = 16 * workers;
  request.seed = plan.job.seed;
  const auto form = BuildCode(plan.job.code, request);
  return form.ok() ? Status::Ok()
                   : form.status().WithContext(
                         fmt::format("--code {} --tolerate {}", plan.job.code, plan.job.tolerate));
}

uint64_t CeilDivide(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }

}  // namespace

uint64_t JobPlan::SamplesIn(uint64_t steps) const {
  const uint64_t rest = std::min(steps % steps_per_epoch * job.batch, samples);
  return steps / steps_per_epoch * samples + rest;
}

Result<JobPlan> PlanJob(const JobFlags& flags, uint32_t workers_elsewhere, uint32_t most_workers) {
  MOTLEY_RETURN_IF_ERROR(CheckNames(flags));
  JobPlan plan;
  if (!flags.speeds.empty()) {
    MOTLEY_ASSIGN_OR_RETURN(plan.speeds, ParseSpeeds("--worker-speeds", flags.speeds));
  }
  if (!flags.sample_time.empty()) {
    MOTLEY_ASSIGN_OR_RETURN(const Duration time, ParseDuration("--sample-time", flags.sample_time));
    plan.sample_time = time;
  }
  JobOptions& job = plan.job;
  MOTLEY_ASSIGN_OR_RETURN(job.workers, WorkerCount(flags, plan.speeds.size(), workers_elsewhere));
  if (job.workers > most_workers) {
    return Status::InvalidArgument(fmt::format("--workers {}: this command runs at most {} workers",
                                               job.workers, most_workers));
  }
  job.model.name = flags.model;
  job.optimizer = flags.optimizer;
  job.batch = flags.batch;
  job.code = flags.code;
  job.tolerate = flags.code == "none" ? 0 : flags.tolerate;
  job.shares = flags.shares == "equal" ? Shares::kEqual : Shares::kProportional;
  job.seed = flags.seed;
  for (const std::string& text : flags.faults) {
    MOTLEY_ASSIGN_OR_RETURN(Fault fault, ParseFault(text));
    plan.faults.push_back(fault);
  }
  MOTLEY_RETURN_IF_ERROR(CheckCode(plan));
  return plan;
}

Status FitToData(const JobFlags& flags, uint64_t samples, JobPlan& plan) {
  MOTLEY_ASSIGN_OR_RETURN(const uint32_t partitions, PartitionCount(samples, plan.job.workers));
  static_cast<void>(partitions);
  plan.samples = samples;
  plan.steps_per_epoch = CeilDivide(samples, plan.job.batch);
  plan.job.steps = flags.steps > 0 ? flags.steps : flags.epochs * plan.steps_per_epoch;
  return CheckFaults(plan.faults, plan.job.workers, plan.job.steps);
}

}  // namespace motley
