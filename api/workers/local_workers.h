// SPDX-License-Identifier: Apache-2.0
// Workers that an all-in-one job starts itself: child processes, or nodes in this process. Loop
// thread.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/loop/loop.h"
#include "base/status.h"
#include "devices/device_list.h"
#include "devices/watched_device.h"
#include "runtime/fault_plan.h"
#include "runtime/job.h"
#include "runtime/uv_loop.h"
#include "training/trainers/callback_trainer.h"
#include "transport/inproc_transport.h"

namespace motley {

struct LocalWorkersOptions {
  std::string server;  // The address for workers to connect to.
  std::string token;
  std::string name;  // For processes; empty: named after their numbers.
  uint32_t workers = 1;
  uint32_t threads = 1;              // Per worker.
  std::vector<DeviceGroup> devices;  // One per worker.
  std::vector<double> speeds;        // One per worker, emulated; empty: as fast as they can.
  Duration sample_time{};            // Time of a sample at speed 1; only with `speeds`.
  Patience patience;                 // Timeouts of drivers, for threads; processes read their own.
  uint64_t memory_bytes = std::numeric_limits<uint64_t>::max();  // For samples, per worker.
};

class LocalWorkers {
 public:
  // Called when a worker ended by itself or by a fault. `how` gives the reason.
  using Exited = std::function<void(WorkerId worker, const Status& how)>;

  // Kills the workers that are left. The loop must not be running.
  virtual ~LocalWorkers() = default;

  virtual void Strike(const Fault& fault) = 0;
  // Workers that have not ended.
  virtual uint32_t running() const = 0;
  // Continues paused workers, gives all `grace` to leave by themselves, and kills the rest. `done`
  // runs once when all have ended. Exited is not called any more. A second call replaces `grace`
  // and `done`.
  virtual void Shutdown(Duration grace, Task done) = 0;
};

// Assigns devices to workers. Workers take turns with `named` devices. Of default devices, each
// except the processor gets one worker, and the other workers share the processor. If the processor
// is not among them, all workers take turns. `devices` is not empty.
std::vector<DeviceGroup> DevicesOfWorkers(const std::vector<DeviceGroup>& devices, bool named,
                                          uint32_t workers);
// The devices of a worker that is alone on its machine, chosen from `defaults` (not empty): all
// devices except the processor, joined. Without any, the processor.
DeviceGroup DevicesOfOne(const std::vector<ListedDevice>& defaults);
// kInvalidArgument: some named devices have no worker.
Status CheckAllUsed(const std::vector<DeviceGroup>& devices, uint32_t workers);
// kInvalidArgument: devices are joined. A caller's trainer computes on one device.
Status CheckNotJoined(const std::vector<DeviceGroup>& devices);

// kResource: the server and all workers of an all-in-one job do not fit into the machine's
// `memory_bytes` together (0: unknown). `devices` has one entry per worker.
Status CheckTogether(const JobOptions& job, uint64_t parameters,
                     const std::vector<DeviceGroup>& devices, uint64_t memory_bytes);

// "worker-2", or "worker-2 opencl:0" if it does not compute on the plain processor.
std::string WorkerName(int32_t index, const DeviceGroup& devices);

// Starts one process per worker by `command` (program and arguments). Its environment holds what it
// needs to know (worker_environment.h). No worker outlives this process: it dies with its parent,
// and leaves when its input or its connection closes. Faults: kill sends SIGKILL; pause sends
// SIGSTOP, and SIGCONT after its duration; slow, nan and lie are sent over the input. kResource
// names the worker that could not be started and says why; the workers before it are gone again.
Result<std::unique_ptr<LocalWorkers>> StartWorkerProcesses(UvLoop& loop,
                                                           std::vector<std::string> command,
                                                           LocalWorkersOptions options,
                                                           LocalWorkers::Exited exited);

// Starts nodes in this process on its loop, each with its own device. Faults: kill drops the node;
// pause holds back its results. `network` is borrowed; `foreign` may be null. Errors are those of
// ListedDevice::make.
Result<std::unique_ptr<LocalWorkers>> StartWorkerThreads(
    UvLoop& loop, InprocNetwork& network, std::shared_ptr<const ForeignTrainer> foreign,
    LocalWorkersOptions options, LocalWorkers::Exited exited);

}  // namespace motley
