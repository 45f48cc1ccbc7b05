// SPDX-License-Identifier: Apache-2.0
// One worker process: joins a server and works for it until it is sent away.
#pragma once

#include <memory>
#include <string>

#include "api/request/job_request.h"
#include "api/stop_switch.h"
#include "base/status.h"
#include "devices/paced_device.h"
#include "devices/watched_device.h"
#include "runtime/worker/worker_node.h"
#include "training/trainers/callback_trainer.h"

namespace motley {

// What a worker is told, by its options or, where those name no server, by its environment.
struct WorkerTask {
  WorkerOptions node;
  std::string devices;  // What computes: workers with commas, joined with a plus.
  uint32_t threads = 0;
  std::optional<Pace> pace;  // Emulated.
  Patience patience;         // With devices of drivers.
  // An all-in-one job started this process: it leaves when its input closes.
  // Lines of its input are "speed 0.2" (from the next piece of work on), "nan" (the next answer
  // is spoilt) and "lie -0.5" (answers are multiplied with it from now on).
  bool child = false;
  bool tied = false;  // It said so by a number: this process dies with it while it works.
};

// kInvalidArgument when nobody says where the server is or what its token is.
Result<WorkerTask> PlanWorker(const JobRequest& request);

// Fine when the server said goodbye; kCancelled when the switch was thrown; otherwise as of
// WorkerNode. kResource: a child whose input is no pipe. `foreign` may be null.
Status RunWorkerTask(UvLoop& loop, StopSwitch& stop, const WorkerTask& task,
                     std::shared_ptr<const ForeignTrainer> foreign);

}  // namespace motley
