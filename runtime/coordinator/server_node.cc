// SPDX-License-Identifier: Apache-2.0
#include "runtime/coordinator/server_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/random.h"
#include "coding/schemes.h"
#include "planner/policies.h"
#include "runtime/coordinator/server_job.h"
#include "runtime/links/partition_feed.h"
#include "runtime/memory_need.h"
#include "runtime/saving/saved_job.h"
#include "training/optimizers/rate_schedule.h"
#include "training/trainers/callback_trainer.h"

namespace motley {

std::vector<double> GroupRates::Of(StepId step) const {
  const uint64_t last = rates.size() / groups - 1;
  const uint64_t row = std::min(step - std::min(step, first_step), last);
  const auto begin = rates.begin() + static_cast<std::ptrdiff_t>(row * groups);
  return {begin, begin + static_cast<std::ptrdiff_t>(groups)};
}
namespace {

constexpr uint32_t kMaxWorkers = 1024;

std::string_view Plural(uint64_t count) { return count == 1 ? "" : "s"; }

Status CheckOptions(const JobOptions& options, uint64_t rows, bool has_disk) {
  if (options.workers == 0 || options.workers > kMaxWorkers) {
    return Status::InvalidArgument(fmt::format("{} worker{}: a job takes 1 to {}", options.workers,
                                               Plural(options.workers), kMaxWorkers));
  }
  if (rows == 0) return Status::InvalidArgument("there are no training samples");
  if (options.token.empty()) {
    return Status::InvalidArgument("a job without a token would take in any worker: give it one");
  }
  if (options.job_id == 0) return Status::InvalidArgument("a job needs an id that is not 0");
  if (options.batch == 0) return Status::InvalidArgument("a batch needs at least one sample");
  if (options.steps == 0) return Status::InvalidArgument("a job needs at least one step");
  if (options.checkpoint.every > 0 && (!has_disk || options.checkpoint.run == 0)) {
    return Status::InvalidArgument(
        "checkpoints need a folder, and a name of the run that is not 0");
  }
  const bool applies = options.foreign != nullptr && options.foreign->apply != nullptr;
  if (applies && options.holders != JobOptions::Holders::kServer) {
    return Status::InvalidArgument(
        "updates of the caller's own need the whole vector at the server: use `reduce` star");
  }
  if (options.sync.one_each) MOTLEY_RETURN_IF_ERROR(CheckOwnUpdates(options));
  if ((options.sync.local_steps > 0) != (options.local.batch > 0) ||
      options.sync.local_ahead != options.local.ahead) {
    return Status::InvalidArgument(
        "`sync` local needs the workers' own steps, and only it has any, or some ahead of a round");
  }
  MOTLEY_RETURN_IF_ERROR(CheckLocalSteps(options));
  if (options.slice_length < 2 || options.slice_length % 2 != 0 ||
      options.slice_length > kMaxBulkBytes / sizeof(float)) {
    return Status::InvalidArgument(
        fmt::format("slices of {} floats: an even number from 2 to {} is possible",
                    options.slice_length, kMaxBulkBytes / sizeof(float)));
  }
  if (!(options.audit_fraction >= 0 && options.audit_fraction <= 1)) {
    return Status::InvalidArgument(
        fmt::format("an audit fraction of {} is not within 0 and 1", options.audit_fraction));
  }
  if (!(options.audit_time >= 0 && options.audit_time <= 1)) {
    return Status::InvalidArgument(
        fmt::format("audits that take {} of the time are not within 0 and 1", options.audit_time));
  }
  return Status::Ok();
}

SchedulerOptions ForScheduler(const JobOptions& options, const BatchSchedule& schedule,
                              uint32_t most_sums) {
  SchedulerOptions out = options;
  out.partitions = static_cast<uint32_t>(schedule.partition_sizes().size());
  out.tolerate = SchemeNamed(options.code).keeps_copies ? options.tolerate : 0;
  out.batch = schedule.batch_size(0);
  out.first_step = options.resume != nullptr ? options.resume->step : 0;
  out.most_sums = most_sums;
  return out;
}

SharedBatches BatchesOf(const BatchSchedule& schedule, const JobOptions& options) {
  if (options.turns == 1) return nullptr;
  return [schedule](StepId turn) {
    SharedBatch batch{.turns = schedule.turns(turn), .samples = {}};
    for (const BatchSchedule::Range& range : *schedule.SharedRanges(turn)) {
      batch.samples.push_back(range.count);
    }
    return batch;
  };
}

Result<uint32_t> PartitionsOf(const JobOptions& options, const DataShape& data) {
  if (options.partitions == 0) return PartitionCount(data, options.workers);
  if (options.partitions <= data.rows) return options.partitions;
  return Status::InvalidArgument(
      fmt::format("{} samples cannot be cut into {} partitions", data.rows, options.partitions));
}

Result<std::unique_ptr<ServerNode>> Make(Env env, const JobOptions& options, const DataSource& data,
                                         JobObserver* observer) {
  const uint64_t samples = data.shape().rows;
  MOTLEY_ASSIGN_OR_RETURN(const uint32_t partitions, PartitionsOf(options, data.shape()));
  MOTLEY_RETURN_IF_ERROR(CheckBlockBytes(LargestPartitionBytes(data.shape(), partitions)));
  const BatchSchedule schedule(options.seed, PartitionSizes(samples, partitions), options.batch,
                               options.turns);
  const bool own_trainer = options.foreign != nullptr;
  if (options.resume != nullptr && options.resume->about.own_trainer == own_trainer) {
    MOTLEY_RETURN_IF_ERROR(CheckSameShape(*options.resume, options.model, data.shape().sparse));
    const bool own_rule = own_trainer && options.foreign->apply;
    MOTLEY_RETURN_IF_ERROR(CheckSameRule(options.resume->about, options.optimizer, own_rule));
  }
  MOTLEY_ASSIGN_OR_RETURN(auto model,
                          ServerModel::Create(env.device, env.transport, options, data));
  Device& evaluates = env.evaluation_device != nullptr ? *env.evaluation_device : env.device;
  MOTLEY_ASSIGN_OR_RETURN(auto validator, Validator::Create(env.loop, evaluates, options));
  JobDescription about;
  if (options.resume != nullptr || options.checkpoint.every > 0) {
    MOTLEY_ASSIGN_OR_RETURN(about, Describe(options, data, model->parameter_count()));
    if (own_trainer) about.partitions = partitions;
  }
  if (options.resume != nullptr) {
    MOTLEY_RETURN_IF_ERROR(CheckSameJob(*options.resume, about, options.seed));
  }
  const uint32_t most_sums =
      MostSums(options, model->parameter_count(), env.device.info().memory_bytes);
  MOTLEY_ASSIGN_OR_RETURN(auto scheduler, MakeScheduler(ForScheduler(options, schedule, most_sums),
                                                        BatchesOf(schedule, options)));
  return std::unique_ptr<ServerNode>(
      new ServerJob(env, options, data, observer,
                    ServerJob::Parts{schedule, std::move(model), std::move(validator),
                                     std::move(scheduler), std::move(about)}));
}

}  // namespace

Status CheckOwnUpdates(const JobOptions& options) {
  const std::string sync = NameOf(options.sync);
  if (options.holders != JobOptions::Holders::kServer) {
    return Status::InvalidArgument(
        fmt::format("with `sync` {} the server holds the parameters: use `reduce` star", sync));
  }
  if (options.checkpoint.every > 0 || options.resume != nullptr) {
    return Status::InvalidArgument(fmt::format(
        "a job with `sync` {} cannot be saved: a checkpoint would have to say which later updates "
        "were applied before earlier ones",
        sync));
  }
  const bool own_rule =
      options.foreign != nullptr && (options.foreign->apply || options.foreign->show);
  if (options.sync.own_momentum && (options.optimizer.name != "nag" || own_rule)) {
    return Status::InvalidArgument(fmt::format(
        "`sync` {} keeps Nesterov's momentum for each worker, and other rules have no such form: "
        "use `optimizer` nag{}",
        sync, own_rule ? ", applied by the server itself" : ""));
  }
  if (options.audit_fraction > 0) {
    return Status::InvalidArgument(fmt::format(
        "audits compare the answers to one update at a time: with `sync` {} use `audit` 0", sync));
  }
  return Status::Ok();
}

Status CheckLocalSteps(const JobOptions& options) {
  if (options.sync.local_steps == 0) return Status::Ok();
  const std::string sync = NameOf(options.sync);
  if (SchemeNamed(options.code).exact || options.tolerate > 0) {
    return Status::InvalidArgument(fmt::format(
        "with `sync` {} two workers would answer the same part differently, so there are no "
        "copies: leave `code` and `tolerate` out",
        sync));
  }
  if (options.checkpoint.every > 0 || options.resume != nullptr) {
    return Status::InvalidArgument(fmt::format(
        "a job with `sync` {} cannot be saved: part of its state, that of the workers' own "
        "optimizers, is at the workers",
        sync));
  }
  if (options.audit_fraction > 0) {
    return Status::InvalidArgument(
        fmt::format("audits compare sums of gradients, and with `sync` {} workers answer with what "
                    "their own steps changed: use `audit` 0",
                    sync));
  }
  if (options.foreign != nullptr && options.foreign->apply) {
    return Status::InvalidArgument(fmt::format(
        "with `sync` {} workers update parameters themselves, and cannot call `apply` of the "
        "server's program: leave `apply` out, or use `sync` bsp",
        sync));
  }
  if (options.foreign != nullptr && options.foreign->make) {
    return Status::InvalidArgument(fmt::format(
        "with `sync` {} the library takes the workers' steps, so a loop of the program's own "
        "cannot: use `sync` bsp",
        sync));
  }
  const OptimizerOptions& own = options.local.optimizer;
  if (!own.groups.empty() || !options.optimizer.groups.empty()) {
    return Status::InvalidArgument(fmt::format(
        "with `sync` {} all parameters have the same rate: leave groups of parameters out", sync));
  }
  MOTLEY_ASSIGN_OR_RETURN(const RateSchedule schedule, ParseSchedule(own.schedule));
  if (schedule.kind == RateSchedule::Kind::kPlateau) {
    return Status::InvalidArgument(
        fmt::format("with `sync` {} the schedule is the workers', who do not know the losses that "
                    "`schedule` plateau follows: use constant, cosine or step",
                    sync));
  }
  return Status::Ok();
}

Result<std::unique_ptr<ServerNode>> ServerNode::Create(Env env, const JobOptions& options,
                                                       const DataSource& data,
                                                       JobObserver* observer) {
  MOTLEY_RETURN_IF_ERROR(CheckOptions(options, data.shape().rows, env.disk != nullptr));
  return OrNoMemory("the server's copies of the model",
                    [&] { return Make(env, options, data, observer); });
}

}  // namespace motley
