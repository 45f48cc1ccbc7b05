// SPDX-License-Identifier: Apache-2.0
// Implements motley/step.h, and the calls of motley/job.h that any thread may make.
#include <fmt/format.h>

#include <cmath>

#include "api/entry.h"
#include "api/job/job.h"
#include "api/versioned.h"
#include "motley/step.h"
#include "training/optimizers/optimizer.h"
#include "training/trainers/step_batch.h"

namespace motley {
namespace {

// The job, and what a function of step.h needs of it.
Result<StepExchange*> ExchangeOf(const char* function, motley_job* job, const void* step) {
  MOTLEY_RETURN_IF_ERROR(CheckNotNull(function, "job", job));
  MOTLEY_RETURN_IF_ERROR(CheckNotNull(function, "step", step));
  auto exchange = job->job->exchange();
  if (exchange.ok()) return exchange;
  return exchange.status().WithContext(function);
}

Status CheckTimeout(const char* function, double timeout_seconds) {
  if (!std::isnan(timeout_seconds)) return Status::Ok();
  return Status::InvalidArgument(fmt::format("{}: timeout_seconds is not a number", function));
}

// The step as this release has it.
Result<motley_step> StepOf(const motley_step& step) {
  return ReadVersioned(&step, motley_step MOTLEY_STEP_INIT, "motley_step", "MOTLEY_STEP_INIT");
}

// An array whose elements have the size that the caller's release gave them.
Result<std::vector<ParameterGroup>> GroupsOf(const motley_group* groups, uint32_t count) {
  std::vector<ParameterGroup> read;
  const auto* at = reinterpret_cast<const std::byte*>(groups);
  const uint32_t size = count > 0 ? groups->struct_size : 0;
  for (uint32_t i = 0; i < count; ++i, at += size) {
    motley_group given MOTLEY_GROUP_INIT;
    const auto* element = reinterpret_cast<const motley_group*>(at);
    if (element->struct_size != size) {
      return Status::InvalidArgument(
          "the groups have several sizes: set each to MOTLEY_GROUP_INIT");
    }
    MOTLEY_ASSIGN_OR_RETURN(given,
                            ReadVersioned(element, given, "motley_group", "MOTLEY_GROUP_INIT"));
    read.push_back({given.end, given.learning_rate, given.l2, given.weight_decay});
  }
  return read;
}

// Runs `body` as a call about a whole job.
template <typename Body>
motley_status OnJob(const char* function, motley_job* job, const Body& body) {
  return Enter([&]() -> Status {
    MOTLEY_RETURN_IF_ERROR(CheckNotNull(function, "job", job));
    return Status(body(*job->job)).WithContext(function);
  });
}

constexpr uint64_t kMostSamples = uint64_t{1} << 32;

}  // namespace
}  // namespace motley

using motley::CheckNotNull;
using motley::Enter;
using motley::Job;
using motley::OnJob;
using motley::Status;

motley_status motley_job_set_loop(motley_job* job, const motley_loop* loop) {
  const char* name = "motley_job_set_loop";
  return Enter([&]() -> Status {
    MOTLEY_RETURN_IF_ERROR(CheckNotNull(name, "job", job));
    MOTLEY_RETURN_IF_ERROR(CheckNotNull(name, "loop", loop));
    return job->job->SetLoop(*loop);
  });
}

motley_status motley_job_start(motley_job* job) {
  return OnJob("motley_job_start", job, [](Job& self) { return self.Start(); });
}

motley_status motley_job_wait(motley_job* job, double timeout_seconds, int32_t* ended) {
  const char* name = "motley_job_wait";
  if (ended != nullptr) *ended = 0;
  return Enter([&]() -> Status {
    MOTLEY_RETURN_IF_ERROR(CheckNotNull(name, "job", job));
    MOTLEY_RETURN_IF_ERROR(motley::CheckTimeout(name, timeout_seconds));
    MOTLEY_ASSIGN_OR_RETURN(const auto result, job->job->Wait(timeout_seconds));
    if (!result) return Status::Unavailable("motley_job_wait: the job is still running");
    if (ended != nullptr) *ended = 1;
    return *result;
  });
}

motley_status motley_job_allow_steps(motley_job* job, uint64_t steps) {
  return OnJob("motley_job_allow_steps", job, [=](Job& self) -> Status {
    MOTLEY_ASSIGN_OR_RETURN(auto* const control, self.control());
    return control->AllowSteps(steps);
  });
}

motley_status motley_job_finish(motley_job* job) {
  return OnJob("motley_job_finish", job, [](Job& self) -> Status {
    MOTLEY_ASSIGN_OR_RETURN(auto* const control, self.control());
    control->Finish();
    return Status::Ok();
  });
}

motley_status motley_job_set_rate(motley_job* job, double learning_rate) {
  return OnJob("motley_job_set_rate", job, [=](Job& self) -> Status {
    MOTLEY_ASSIGN_OR_RETURN(auto* const control, self.control());
    return control->SetRate(learning_rate);
  });
}

motley_status motley_job_set_groups(motley_job* job, const motley_group* groups, uint32_t count) {
  const char* name = "motley_job_set_groups";
  return OnJob(name, job, [&](Job& self) -> Status {
    MOTLEY_RETURN_IF_ERROR(CheckNotNull(name, "groups", groups));
    MOTLEY_ASSIGN_OR_RETURN(auto read, motley::GroupsOf(groups, count));
    return self.SetGroups(std::move(read));
  });
}

motley_status motley_job_set_group_rates(motley_job* job, uint64_t first_update,
                                         const double* rates, uint64_t updates) {
  const char* name = "motley_job_set_group_rates";
  return OnJob(name, job, [&](Job& self) -> Status {
    MOTLEY_RETURN_IF_ERROR(CheckNotNull(name, "rates", rates));
    MOTLEY_ASSIGN_OR_RETURN(auto* const control, self.control());
    return control->SetGroupRates(first_update, rates, updates);
  });
}

motley_status motley_job_copy_parameters(motley_job* job, float* parameters, uint64_t count,
                                         uint64_t* version) {
  const char* name = "motley_job_copy_parameters";
  return OnJob(name, job, [&](Job& self) -> Status {
    MOTLEY_RETURN_IF_ERROR(CheckNotNull(name, "parameters", parameters));
    MOTLEY_ASSIGN_OR_RETURN(const uint64_t copied, self.CopyParameters({parameters, count}));
    if (version != nullptr) *version = copied;
    return Status::Ok();
  });
}

motley_status motley_step_begin(motley_job* job, double timeout_seconds, motley_step* step) {
  const char* name = "motley_step_begin";
  return Enter([&]() -> Status {
    MOTLEY_ASSIGN_OR_RETURN(auto* const exchange, motley::ExchangeOf(name, job, step));
    MOTLEY_RETURN_IF_ERROR(motley::CheckTimeout(name, timeout_seconds));
    // Before a step is taken that could not be shown.
    MOTLEY_RETURN_IF_ERROR(motley::CheckStructSize("motley_step", "MOTLEY_STEP_INIT",
                                                   step->struct_size, alignof(motley_step)));
    motley_step taken{};
    MOTLEY_RETURN_IF_ERROR(exchange->Begin(timeout_seconds, taken).WithContext(name));
    return motley::WriteVersioned(taken, step, "motley_step", "MOTLEY_STEP_INIT");
  });
}

motley_status motley_step_partial(motley_job* job, const motley_step* step, uint64_t samples_done) {
  const char* name = "motley_step_partial";
  bool unwanted = false;
  const motley_status status = Enter([&]() -> Status {
    MOTLEY_ASSIGN_OR_RETURN(auto* const exchange, motley::ExchangeOf(name, job, step));
    MOTLEY_ASSIGN_OR_RETURN(const motley_step given, motley::StepOf(*step));
    const auto partial = exchange->Partial(given, samples_done);
    if (!partial.ok()) return partial.status().WithContext(name);
    unwanted = *partial;
    return Status::Ok();
  });
  return unwanted ? MOTLEY_CANCELLED : status;
}

motley_status motley_step_ready(motley_job* job, const motley_step* step, uint64_t begin,
                                uint64_t end) {
  const char* name = "motley_step_ready";
  return Enter([&]() -> Status {
    MOTLEY_ASSIGN_OR_RETURN(auto* const exchange, motley::ExchangeOf(name, job, step));
    MOTLEY_ASSIGN_OR_RETURN(const motley_step given, motley::StepOf(*step));
    return exchange->Ready(given, begin, end).WithContext(name);
  });
}

motley_status motley_step_end(motley_job* job, const motley_step* step, motley_status status) {
  const char* name = "motley_step_end";
  return Enter([&]() -> Status {
    MOTLEY_ASSIGN_OR_RETURN(auto* const exchange, motley::ExchangeOf(name, job, step));
    MOTLEY_ASSIGN_OR_RETURN(const motley_step given, motley::StepOf(*step));
    return exchange->End(given, status).WithContext(name);
  });
}

int motley_job_descriptor(motley_job* job) {
  int descriptor = -1;
  Enter([&]() -> Status {
    MOTLEY_ASSIGN_OR_RETURN(auto* const exchange,
                            motley::ExchangeOf("motley_job_descriptor", job, job));
    MOTLEY_ASSIGN_OR_RETURN(descriptor, exchange->Descriptor());
    return Status::Ok();
  });
  return descriptor;
}

motley_status motley_batch_samples(uint64_t seed, uint64_t sample_count, uint32_t batch,
                                   uint64_t step, uint64_t* samples, uint64_t* count) {
  const char* name = "motley_batch_samples";
  return Enter([&]() -> Status {
    MOTLEY_RETURN_IF_ERROR(CheckNotNull(name, "count", count));
    if (sample_count == 0 || sample_count > motley::kMostSamples || batch == 0) {
      return Status::InvalidArgument(
          fmt::format("{}: batches of {} among {} samples: at least 1, and samples up to {}", name,
                      batch, sample_count, motley::kMostSamples));
    }
    const motley::StepBatch drawn(seed, sample_count, batch, step);
    *count = drawn.size();
    if (samples == nullptr) return Status::Ok();
    for (uint32_t rank = 0; rank < drawn.size(); ++rank) samples[rank] = drawn.Sample(rank);
    return Status::Ok();
  });
}
