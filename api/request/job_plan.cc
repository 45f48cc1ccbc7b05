// SPDX-License-Identifier: Apache-2.0
#include "api/request/job_plan.h"

#include <algorithm>
#include <utility>

#include "api/request/parse.h"
#include "api/request/sync_plan.h"
#include "base/counted.h"
#include "base/suggest.h"
#include "checkpoint/erasure/erasure_code.h"
#include "coding/gradient_code.h"
#include "fmt/core.h"
#include "runtime/coordinator/server_node.h"
#include "training/models/architecture.h"
#include "training/optimizers/optimizer_rule.h"
#include "training/optimizers/rate_schedule.h"

namespace motley {
namespace {

Result<uint32_t> WorkerCount(const JobRequest& request, size_t speeds, uint32_t elsewhere) {
  if (elsewhere > 0) {
    if (request.workers > 0 && request.workers != elsewhere) {
      return Status::InvalidArgument(
          fmt::format("`workers` {}: the cluster file has {} workers. Leave `workers` out",
                      request.workers, elsewhere));
    }
    return elsewhere;
  }
  if (speeds == 0 && request.workers > 0) return request.workers;
  if (speeds == 0) {
    const bool serves = request.role == MOTLEY_SERVER;
    return serves ? std::max(kUsualServedWorkers, request.min_workers) : kUsualWorkers;
  }
  if (request.workers > 0 && request.workers != speeds) {
    return Status::InvalidArgument(fmt::format(
        "`workers` {} does not fit `worker_speeds` {}: that has {} speed{}. Give one speed per "
        "worker, or leave `workers` out",
        request.workers, request.speeds, speeds, speeds == 1 ? "" : "s"));
  }
  return static_cast<uint32_t>(speeds);
}

Status CheckWorkerCount(uint32_t workers, uint32_t most) {
  if (workers <= most) return Status::Ok();
  if (most == kMostWorkers) {
    return Status::InvalidArgument(
        fmt::format("`workers` {}: a job has at most {} workers", workers, kMostWorkers));
  }
  return Status::InvalidArgument(
      fmt::format("`workers` {}: at most {} workers are started on one machine; a server "
                  "(motley train --remote) takes up to {} that are started elsewhere",
                  workers, most, kMostWorkers));
}

Status CheckNames(const JobRequest& request) {
  std::vector<std::string> codes;
  for (const Scheme& scheme : Schemes()) codes.emplace_back(scheme.name);
  MOTLEY_RETURN_IF_ERROR(CheckChoice("`code`", request.code, codes));
  MOTLEY_RETURN_IF_ERROR(CheckChoice("`shares`", request.shares, {"proportional", "equal"}));
  if (!request.model.empty()) {
    MOTLEY_RETURN_IF_ERROR(CheckChoice("`model`", WordOf(request.model), ModelWords()));
  }
  if (!request.storage.empty()) {
    MOTLEY_RETURN_IF_ERROR(CheckChoice("`storage`", request.storage, {"float32", "fp16", "bf16"}));
  }
  return CheckChoice("`optimizer`", request.optimizer.name, OptimizerNames());
}

// The number of workers that compute.
uint32_t ComputingWorkers(const JobOptions& job) {
  return job.most_workers > 0 ? std::min(job.workers, job.most_workers) : job.workers;
}

// Sets how many of the workers compute.
Status PlanFastest(const JobRequest& request, JobOptions& job) {
  const Scheme& scheme = SchemeNamed(request.code);
  if (request.fastest > 0 && (scheme.leases() || scheme.chosen_later())) {
    return Status::InvalidArgument(fmt::format(
        "`fastest` {}: `code` {} chooses by itself which workers compute. Leave `fastest` out, or "
        "use another `code`, like none",
        request.fastest, request.code));
  }
  job.most_workers = request.fastest;
  return Status::Ok();
}

// Sets into how many parts the samples are cut; 0: by PartitionCount.
Status PlanPartitions(const JobRequest& request, JobOptions& job) {
  job.partitions = request.partitions;
  if (request.partitions == 0) return Status::Ok();
  if (request.partitions < job.workers) {
    return Status::InvalidArgument(fmt::format(
        "`partitions` {}: a worker computes whole ones, and the job has at most {}. {}",
        request.partitions, Counted(job.workers, "worker"),
        request.keeps_partitions
            ? "The loss curve of the checkpoint's job depends on them, so give fewer `workers`"
            : "Give at least as many `partitions`, or fewer `workers`"));
  }
  if (request.partitions <= kMaxPartitions) return Status::Ok();
  return Status::InvalidArgument(
      fmt::format("`partitions` {}: at most {} are possible", request.partitions, kMaxPartitions));
}

// Checks that sums of rounded answers are worth something.
Status CheckRounding(const CodeForm& form, JobPlan& plan) {
  constexpr uint64_t kSets = 30;  // Sets of missing workers that are tried.
  const WireForm& wire = FormOf(plan.job.wire);
  const Scheme& scheme = SchemeNamed(plan.job.code);
  if (wire.error == 0 || !scheme.weighs || !scheme.exact) return Status::Ok();
  plan.rounding_noise = AssessCode(form, kSets, plan.job.seed).worst_noise;
  if (plan.rounding_noise <= wire.most_noise) return Status::Ok();
  return Status::InvalidArgument(fmt::format(
      "`wire` {}: decoding with `code` {} `tolerate` {} multiplies the variance of rounding by "
      "{:.3g}, and {:g} is the most that steps bear. Use `code` repetition or heterogeneous, "
      "tolerate "
      "fewer workers, or leave `wire` out",
      wire.name, plan.job.code, plan.job.tolerate, plan.rounding_noise, wire.most_noise));
}

// Checks that the code supports the number of workers, before any data are read or workers started.
Status CheckCode(JobPlan& plan) {
  const uint32_t workers = ComputingWorkers(plan.job);
  if (plan.job.tolerate >= workers) {
    return Status::InvalidArgument(fmt::format(
        "`tolerate` {}: with {} worker{} at most {} can be missing. Use `tolerate` {}, or more "
        "workers",
        plan.job.tolerate, workers, workers == 1 ? "" : "s", workers - 1, workers - 1));
  }
  if (!SchemeNamed(plan.job.code).fixed_rows()) return Status::Ok();
  std::vector<double> speeds = plan.speeds;
  std::sort(speeds.rbegin(), speeds.rend());
  speeds.resize(workers);
  if (plan.speeds.empty() || plan.job.shares == Shares::kEqual) speeds.assign(workers, 1);
  CodeRequest request = RequestOf(plan.job, std::move(speeds));
  request.partitions = plan.job.partitions > 0 ? plan.job.partitions : 16 * workers;
  const auto form = BuildCode(plan.job.code, request);
  if (form.ok()) return CheckRounding(*form, plan);
  const std::string parts =
      SchemeNamed(plan.job.code).has_parts ? fmt::format(" `parts` {}", plan.job.parts) : "";
  return form.status().WithContext(
      fmt::format("`code` {} `tolerate` {}{}", plan.job.code, plan.job.tolerate, parts));
}

// Sets when steps may end before they are exact.
Status PlanEarlyEnd(const JobRequest& request, JobOptions& job) {
  if (SchemeNamed(job.code).exact) {
    if (request.quorum == 0 && request.step_deadline.empty()) return Status::Ok();
    return Status::InvalidArgument(fmt::format(
        "`{}`: with `code` {} every step waits until it is exact. Use `code` approximate, or leave "
        "it out",
        request.quorum > 0 ? "quorum" : "step_deadline", request.code));
  }
  const uint32_t workers = ComputingWorkers(job);
  if (request.quorum > workers) {
    return Status::InvalidArgument(
        fmt::format("`quorum` {}: with {} worker{} at most {} can answer", request.quorum, workers,
                    workers == 1 ? "" : "s", workers));
  }
  job.quorum = request.quorum;
  if (request.step_deadline.empty()) return Status::Ok();
  MOTLEY_ASSIGN_OR_RETURN(job.step_deadline,
                          ParseDuration("`step_deadline`", request.step_deadline));
  return Status::Ok();
}

// Sets how the vector travels. Its code is checked with CheckRounding.
Status PlanWire(const JobRequest& request, JobOptions& job) {
  const WireFormat* const wire = FindWireFormat(request.wire);
  if (wire == nullptr) return CheckChoice("`wire`", request.wire, WireFormatNames());
  job.wire = *wire;
  if (job.wire == WireFormat::kFloat32) return Status::Ok();
  if (request.audit > 0) {
    return Status::InvalidArgument(fmt::format(
        "`audit` with `wire` {}: the sums that the server computes itself are not rounded, so it "
        "would take rounding for a wrong answer. Leave `audit` out, or use `wire` float32",
        request.wire));
  }
  job.audit_fraction = 0;
  job.unweighted = FormOf(job.wire).by_chance;
  return Status::Ok();
}

// Refuses options for starting or disturbing workers, because a server's workers are started
// elsewhere.
Status CheckServesOthers(const JobRequest& request) {
  const std::pair<const char*, bool> set[] = {{"worker_speeds", !request.speeds.empty()},
                                              {"sample_time", !request.sample_time.empty()},
                                              {"faults", !request.faults.empty()}};
  for (const auto& [option, given] : set) {
    if (given) {
      return Status::InvalidArgument(
          fmt::format("`{}`: only an all-in-one job starts workers itself. Leave it out", option));
    }
  }
  return Status::Ok();
}

// The number of workers that a server starts on its own machine, one for each of `devices`.
uint32_t WorkersBeside(const JobRequest& request) {
  if (request.worker_command.empty()) return 0;
  const auto commas = std::count(request.devices.begin(), request.devices.end(), ',');
  return static_cast<uint32_t>(commas) + 1;
}

// Sets when a server begins and how long it waits for workers. By default it begins when one worker
// besides its own has joined. If only `workers` is given, it waits for all of them, but no longer
// than kGatherTime.
Status PlanArrivals(const JobRequest& request, JobOptions& job) {
  if (request.min_workers > job.workers) {
    return Status::InvalidArgument(fmt::format(
        "`min_workers` {}: the job has at most {} worker{}. Ask for fewer, or for more `workers`",
        request.min_workers, job.workers, job.workers == 1 ? "" : "s"));
  }
  job.least_workers = std::min(WorkersBeside(request) + 1, job.workers);
  if (request.min_workers > 0) job.least_workers = request.min_workers;
  const bool all_wanted = request.workers > 0 && request.min_workers == 0;
  job.gather_time = request.wait;
  if (request.open.wait) job.gather_time = all_wanted ? kGatherTime : Duration::zero();
  job.start_timeout = std::max(kPeoplesTime, *job.gather_time);
  job.name_arrivals = true;
  return Status::Ok();
}

// Sets the interval and the code. The caller sets the folder, the run and the checkpoint to resume
// from.
Status PlanCheckpoints(const JobRequest& request, CheckpointOptions& out) {
  if (request.checkpoint.empty()) return Status::Ok();
  out.every = request.checkpoint_every;
  auto code = ParseCheckpointCode(request.checkpoint_code);
  if (!code.ok()) return code.status().WithContext("`checkpoint_code`");
  out.code = *code;
  // Jerasure builds its tables at the first use, and ends the process if it is out of memory. So
  // they are built now, while memory is free, and not for the first checkpoint.
  const Result<ErasureCode> tried = ErasureCode::Create(code->data, code->parity, code->technique);
  return tried.ok() ? Status::Ok() : tried.status().WithContext("`checkpoint_code`");
}

// Mode backup:B is code approximate with a quorum.
Result<JobPlan> PlanWithBackup(const JobRequest& request, const SyncMode& sync,
                               uint32_t workers_elsewhere, uint32_t most_workers) {
  if (request.code != "auto" && request.code != "approximate") {
    return Status::InvalidArgument(
        fmt::format("`sync` {} and `code` {}: steps that end without all answers are those of "
                    "`code` approximate. Leave `code` out, or use `sync` bsp",
                    request.sync, request.code));
  }
  if (request.quorum > 0 || (!request.open.tolerate && request.tolerate > 0)) {
    return Status::InvalidArgument(
        fmt::format("`sync` {} says how many answers a step has. Leave `{}` out, or use `code` "
                    "approximate with `sync` bsp",
                    request.sync, request.quorum > 0 ? "quorum" : "tolerate"));
  }
  JobRequest approximate = request;
  approximate.sync = "bsp";
  approximate.code = "approximate";
  approximate.tolerate = 0;
  approximate.open.tolerate = false;
  MOTLEY_ASSIGN_OR_RETURN(JobPlan plan, PlanJob(approximate, workers_elsewhere, most_workers));
  const uint32_t workers = ComputingWorkers(plan.job);
  if (sync.backup >= workers) {
    return Status::InvalidArgument(fmt::format(
        "`sync` {}: of {} worker{} at least one must answer. Use fewer, or more workers",
        request.sync, workers, workers == 1 ? "" : "s"));
  }
  plan.job.sync = sync;
  plan.job.quorum = workers - sync.backup;
  return plan;
}

}  // namespace

uint64_t JobPlan::SamplesIn(uint64_t steps) const {
  const uint64_t rest = std::min(steps % steps_per_epoch * job.batch / job.turns, samples);
  return steps / steps_per_epoch * samples + rest;
}

Result<JobPlan> PlanJob(const JobRequest& request, uint32_t workers_elsewhere,
                        uint32_t most_workers) {
  MOTLEY_ASSIGN_OR_RETURN(const SyncMode sync, ParseSyncMode(request.sync));
  if (sync.backup > 0) return PlanWithBackup(request, sync, workers_elsewhere, most_workers);
  MOTLEY_RETURN_IF_ERROR(CheckNames(request));
  JobPlan plan;
  if (!request.speeds.empty()) {
    MOTLEY_ASSIGN_OR_RETURN(plan.speeds, ParseSpeeds("`worker_speeds`", request.speeds));
  }
  if (!request.sample_time.empty()) {
    MOTLEY_ASSIGN_OR_RETURN(const Duration time,
                            ParseDuration("`sample_time`", request.sample_time));
    plan.sample_time = time;
  }
  JobOptions& job = plan.job;
  MOTLEY_ASSIGN_OR_RETURN(job.workers, WorkerCount(request, plan.speeds.size(), workers_elsewhere));
  MOTLEY_RETURN_IF_ERROR(CheckWorkerCount(job.workers, most_workers));
  job.model.name = request.model.empty() ? "softmax" : request.model;
  job.model.dropout = request.dropout;
  if (!request.storage.empty()) {
    MOTLEY_ASSIGN_OR_RETURN(job.meaning.storage, ParseStorage(request.storage));
  }
  job.optimizer = request.optimizer;
  job.batch = request.batch;
  job.code = request.code;
  // For auto, `tolerate` is a minimum, and the default asks for none.
  const Scheme& scheme = SchemeNamed(request.code);
  const bool unasked = scheme.chosen_later() && request.open.tolerate;
  job.tolerate = !scheme.keeps_copies || unasked ? 0 : request.tolerate;
  if (request.parts > 0 && !scheme.has_parts) {
    return Status::InvalidArgument(
        fmt::format("`parts` {}: the answers of `code` {} are as long as gradients. Leave `parts` "
                    "out, or use `code` short or partial-coded",
                    request.parts, request.code));
  }
  if (request.parts > 0) job.parts = request.parts;
  job.shares = request.shares == "equal" ? Shares::kEqual : Shares::kProportional;
  job.seed = request.seed;
  for (const std::string& text : request.faults) {
    MOTLEY_ASSIGN_OR_RETURN(Fault fault, ParseFault(text));
    plan.faults.push_back(fault);
  }
  MOTLEY_RETURN_IF_ERROR(PlanPartitions(request, job));
  MOTLEY_RETURN_IF_ERROR(PlanFastest(request, job));
  MOTLEY_RETURN_IF_ERROR(PlanWire(request, job));
  MOTLEY_RETURN_IF_ERROR(PlanSync(request, job));
  MOTLEY_RETURN_IF_ERROR(PlanEarlyEnd(request, job));
  MOTLEY_RETURN_IF_ERROR(CheckCode(plan));
  return plan;
}

Result<JobPlan> PlanRealJob(const JobRequest& request) {
  const bool here = request.role == MOTLEY_ALL_IN_ONE;
  MOTLEY_RETURN_IF_ERROR(here ? Status::Ok() : CheckServesOthers(request));
  MOTLEY_ASSIGN_OR_RETURN(JobPlan plan,
                          PlanJob(request, 0, here ? kMostLocalWorkers : kMostWorkers));
  if (here && request.min_workers > 0) {
    return Status::InvalidArgument(
        fmt::format("`min_workers` {}: the workers of one machine are all started at once. It is "
                    "for a server (motley train --remote), which accepts workers as they come",
                    request.min_workers));
  }
  if (!here) MOTLEY_RETURN_IF_ERROR(PlanArrivals(request, plan.job));
  plan.job.return_timeout = request.wait;
  const auto slows = [](const Fault& fault) { return fault.kind == Fault::Kind::kSlow; };
  if (plan.speeds.empty() && std::any_of(plan.faults.begin(), plan.faults.end(), slows)) {
    return Status::InvalidArgument(
        "`faults` slow: only emulated workers can be slowed. Add `worker_speeds`, like 1,1");
  }
  if (plan.speeds.empty() && plan.sample_time) {
    return Status::InvalidArgument(
        "`sample_time` needs emulated speeds. Add `worker_speeds`, like 1,1");
  }
  plan.job.step_limit = FromSeconds(request.step_limit);
  if (request.audit != 0) {
    plan.job.audit_fraction = std::max(request.audit, 0.0);
    plan.job.audit_time = 0;  // The given fraction, whatever it costs.
  }
  MOTLEY_RETURN_IF_ERROR(PlanReduction(request, here, plan.job));
  if (request.allowed_steps > 0 && plan.job.sync.one_each) {
    return Status::InvalidArgument(
        fmt::format("`allowed_steps` {}: with `sync` {} steps have no common end to pause at. Use "
                    "`sync` bsp",
                    request.allowed_steps, request.sync));
  }
  MOTLEY_RETURN_IF_ERROR(CheckToken(request.token, request.listen));
  if (request.data.empty() == (request.sample_count == 0)) {
    return Status::InvalidArgument(
        "a job trains on samples: give either `data`, or, with a trainer that knows them, "
        "`sample_count`");
  }
  MOTLEY_RETURN_IF_ERROR(PlanCheckpoints(request, plan.job.checkpoint));
  if (plan.job.sync.one_each) MOTLEY_RETURN_IF_ERROR(CheckOwnUpdates(plan.job));
  MOTLEY_RETURN_IF_ERROR(CheckLocalSteps(plan.job));
  return plan;
}

Status FitToData(const JobRequest& request, uint64_t samples, JobPlan& plan) {
  MOTLEY_RETURN_IF_ERROR(PartitionCount(samples, plan.job.workers).status());
  if (plan.job.partitions > samples) {
    return Status::InvalidArgument(
        fmt::format("`partitions` {}: there are only {}, and each partition needs one{}",
                    plan.job.partitions, Counted(samples, "training sample"),
                    request.resume.empty() ? "" : ". The job that is resumed had more samples"));
  }
  plan.samples = samples;
  plan.steps_per_epoch = samples / plan.job.batch + (samples % plan.job.batch != 0);
  if (plan.job.sync.in_order) ShareBatches(samples, plan.job);
  plan.job.steps = request.steps;
  if (request.steps == 0) {
    if (request.epochs > kMostSteps / plan.steps_per_epoch) {
      return Status::InvalidArgument(
          fmt::format("`epochs` {} of {} steps each: at most {} steps are possible", request.epochs,
                      plan.steps_per_epoch, kMostSteps));
    }
    plan.job.steps = request.epochs * plan.steps_per_epoch;
  }
  return CheckFaults(plan.faults, plan.job.workers, plan.job.steps);
}

}  // namespace motley
