// SPDX-License-Identifier: Apache-2.0
// One worker process or shard server. It joins a server and works for it until the server dismisses
// it.
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

// The task of a worker, from its options or, if they name no server, from its environment.
struct WorkerTask {
  WorkerOptions node;
  std::string devices;  // Commas separate workers; a plus joins devices.
  uint32_t threads = 0;
  std::optional<Pace> pace;  // Emulated speed.
  Patience patience;         // Timeouts of drivers.
  // An all-in-one job started this process and gave it a number. It leaves when its input closes,
  // and dies with the job's process. Lines of its input are "speed 0.2" (from the next piece of
  // work on), "nan" (corrupts the next answer) and "lie
  // -0.5" (multiplies all further answers).
  bool child = false;
};

// kInvalidArgument: neither options nor environment give the server's address or its token. Shard
// servers get the address from options only.
Result<WorkerTask> PlanWorker(const JobRequest& request);

// OK when the server said goodbye. kCancelled when the switch was thrown. kResource: the input of a
// child is not a pipe. Other errors are those of WorkerNode. `foreign` may be null.
Status RunWorkerTask(UvLoop& loop, StopSwitch& stop, const WorkerTask& task,
                     std::shared_ptr<const ForeignTrainer> foreign);

}  // namespace motley
