// SPDX-License-Identifier: Apache-2.0
// Runs one job with its server in this process and its workers in processes of their own.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "api/job_plan.h"
#include "devices/device.h"
#include "runtime/job.h"
#include "runtime/uv_loop.h"
#include "training/data_source.h"

namespace motley {

struct LocalJobOptions {
  std::string listen = "127.0.0.1:0";
  uint32_t threads = 1;    // Per worker.
  Duration sample_time{};  // Of a sample at speed 1, when plan.speeds are emulated.
};

struct LocalJobResult {
  JobResult job;
  int signal = 0;  // The one that ended it (SIGINT, SIGTERM), or 0.
};

class LocalJob {
 public:
  // Everything that can be refused without a worker: the job's options, the address (kUnavailable
  // when it is taken). All arguments are borrowed; `plan.job` is complete.
  static Result<std::unique_ptr<LocalJob>> Create(UvLoop& loop, Device& device, JobPlan plan,
                                                  const DataSource& data, JobObserver& observer,
                                                  const LocalJobOptions& options);
  virtual ~LocalJob() = default;

  // Starts the workers, trains, and returns when the last worker process is gone. SIGINT and
  // SIGTERM end the job early (a second one kills at once). Once only.
  virtual Result<LocalJobResult> Run() = 0;
};

}  // namespace motley
