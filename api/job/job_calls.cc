// SPDX-License-Identifier: Apache-2.0
// Implements motley/job.h.
#include <algorithm>
#include <cstring>

#include "api/entry.h"
#include "api/job/job.h"
#include "api/versioned.h"

using motley::CheckNotNull;
using motley::Enter;
using motley::Status;

motley_status motley_job_create(const motley_job_options* options, motley_job** job) {
  return Enter([&]() -> Status {
    MOTLEY_RETURN_IF_ERROR(CheckNotNull("motley_job_create", "job", job));
    *job = nullptr;
    MOTLEY_RETURN_IF_ERROR(CheckNotNull("motley_job_create", "options", options));
    MOTLEY_ASSIGN_OR_RETURN(auto made, motley::Job::Create(*options));
    *job = new motley_job{std::move(made)};
    return Status::Ok();
  });
}

void motley_job_destroy(motley_job* job) {
  if (job == nullptr || !job->job->running()) {
    delete job;
    return;
  }
  Enter([] {
    return Status::Conflict(
        "motley_job_destroy: the job is running and was not destroyed. Call motley_job_stop, and "
        "destroy the job when motley_job_run has returned");
  });
}

motley_status motley_job_set_trainer(motley_job* job, const motley_trainer* trainer) {
  return Enter([&]() -> Status {
    MOTLEY_RETURN_IF_ERROR(CheckNotNull("motley_job_set_trainer", "job", job));
    MOTLEY_RETURN_IF_ERROR(CheckNotNull("motley_job_set_trainer", "trainer", trainer));
    return job->job->SetTrainer(*trainer);
  });
}

motley_status motley_job_set_events(motley_job* job, motley_event_callback callback,
                                    void* context) {
  return Enter([&]() -> Status {
    MOTLEY_RETURN_IF_ERROR(CheckNotNull("motley_job_set_events", "job", job));
    return job->job->SetEvents(callback, context);
  });
}

motley_status motley_job_run(motley_job* job) {
  return Enter([&]() -> Status {
    MOTLEY_RETURN_IF_ERROR(CheckNotNull("motley_job_run", "job", job));
    return job->job->Run();
  });
}

void motley_job_stop(motley_job* job) {
  if (job != nullptr) job->job->Stop();
}

motley_status motley_job_metrics(const motley_job* job, motley_metrics* metrics) {
  return Enter([&]() -> Status {
    MOTLEY_RETURN_IF_ERROR(CheckNotNull("motley_job_metrics", "job", job));
    MOTLEY_RETURN_IF_ERROR(CheckNotNull("motley_job_metrics", "metrics", metrics));
    MOTLEY_ASSIGN_OR_RETURN(const motley_metrics now, job->job->metrics());
    return motley::WriteVersioned(now, metrics, "motley_metrics", "MOTLEY_METRICS_INIT");
  });
}

motley_status motley_job_worker(const motley_job* job, uint32_t worker,
                                motley_worker_metrics* metrics) {
  return Enter([&]() -> Status {
    MOTLEY_RETURN_IF_ERROR(CheckNotNull("motley_job_worker", "job", job));
    MOTLEY_RETURN_IF_ERROR(CheckNotNull("motley_job_worker", "metrics", metrics));
    MOTLEY_ASSIGN_OR_RETURN(const motley_worker_metrics now, job->job->WorkerMetrics(worker));
    return motley::WriteVersioned(now, metrics, "motley_worker_metrics",
                                  "MOTLEY_WORKER_METRICS_INIT");
  });
}

const char* motley_job_report(motley_job* job) {
  const char* report = nullptr;
  Enter([&]() -> Status {
    MOTLEY_RETURN_IF_ERROR(CheckNotNull("motley_job_report", "job", job));
    MOTLEY_ASSIGN_OR_RETURN(report, job->job->report());
    return Status::Ok();
  });
  return report;
}

const char* motley_job_failure(const motley_job* job) {
  return job != nullptr ? job->job->failure() : "";
}

motley_status motley_job_parameters(const motley_job* job, float* parameters, uint64_t count,
                                    uint64_t* all) {
  return Enter([&]() -> Status {
    MOTLEY_RETURN_IF_ERROR(CheckNotNull("motley_job_parameters", "job", job));
    if (count > 0) {
      MOTLEY_RETURN_IF_ERROR(CheckNotNull("motley_job_parameters", "parameters", parameters));
    }
    MOTLEY_ASSIGN_OR_RETURN(const auto values, job->job->parameters());
    const size_t copied = std::min<uint64_t>(count, values.size());
    if (copied > 0) std::memcpy(parameters, values.data(), copied * sizeof(float));
    if (all != nullptr) *all = values.size();
    return Status::Ok();
  });
}

motley_status motley_job_save(const motley_job* job, const char* path) {
  return Enter([&]() -> Status {
    MOTLEY_RETURN_IF_ERROR(CheckNotNull("motley_job_save", "job", job));
    MOTLEY_RETURN_IF_ERROR(CheckNotNull("motley_job_save", "path", path));
    return job->job->Save(path);
  });
}
