// SPDX-License-Identifier: Apache-2.0
// The workers that an all-in-one job starts itself: processes, or nodes in this one. Loop thread.
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
  std::string server;  // Address that the workers connect to.
  std::string token;
  std::string name;  // Of processes; empty: each after its number.
  uint32_t workers = 1;
  uint32_t threads = 1;              // Per worker.
  std::vector<DeviceGroup> devices;  // One per worker.
  std::vector<double> speeds;        // One per worker, emulated; empty: as fast as they can.
  Duration sample_time{};            // Of a sample at speed 1, with `speeds`.
  Patience patience;                 // With devices of drivers, of threads; processes ask anew.
  uint64_t memory_bytes = std::numeric_limits<uint64_t>::max();  // Of samples, per worker.
};

class LocalWorkers {
 public:
  // Runs when a worker ended by itself or by a fault; `how` says what became of it.
  using Exited = std::function<void(WorkerId worker, const Status& how)>;

  // Kills whatever is left; the loop must not be running.
  virtual ~LocalWorkers() = default;

  virtual void Strike(const Fault& fault) = 0;
  // Workers still there.
  virtual uint32_t running() const = 0;
  // Continues paused workers, lets all leave by themselves for `grace`, kills the rest; `done` runs
  // once when none is left. Exited is no longer called. A second call replaces `grace` and `done`.
  virtual void Shutdown(Duration grace, Task done) = 0;
};

// Who computes on what: workers take turns with devices that were named. Of the default ones each
// but the processor has one worker, and the others share that; where it cannot be used, all take
// turns. `devices`: one or more.
std::vector<DeviceGroup> DevicesOfWorkers(const std::vector<DeviceGroup>& devices, bool named,
                                          uint32_t workers);
// What a worker that is alone on its machine has of the default ones, of which there are some: all
// that are not the processor, joined; without any, that.
DeviceGroup DevicesOfOne(const std::vector<ListedDevice>& defaults);
// kInvalidArgument when some of those that were named have no worker.
Status CheckAllUsed(const std::vector<DeviceGroup>& devices, uint32_t workers);
// kInvalidArgument where devices are joined: a function of the caller's computes on one.
Status CheckNotJoined(const std::vector<DeviceGroup>& devices);

// kResource when the server and all workers of an all-in-one job, which take their vectors from one
// machine, do not fit into `memory_bytes` together (0: not known). `devices`: one per worker.
Status CheckTogether(const JobOptions& job, uint64_t parameters,
                     const std::vector<DeviceGroup>& devices, uint64_t memory_bytes);

// "worker-2", with its devices unless that is the processor: "worker-2 opencl:0".
std::string WorkerName(int32_t index, const DeviceGroup& devices);

// One process each, started by `command` (program and arguments) with what it needs to know in its
// environment (worker_environment.h). None outlives this process, however it ends: a worker dies
// with its parent, and leaves when its input or its connection closes. kill: SIGKILL. pause:
// SIGSTOP, SIGCONT after its duration. slow, nan and lie: told over the input.
// kResource names the worker that could not be started and why; those before it are gone again.
Result<std::unique_ptr<LocalWorkers>> StartWorkerProcesses(UvLoop& loop,
                                                           std::vector<std::string> command,
                                                           LocalWorkersOptions options,
                                                           LocalWorkers::Exited exited);

// Nodes of this process on its loop, each with a device of its own. kill: the node is dropped.
// pause: what it computes is not reported until its end. `network` is borrowed; `foreign` may be
// null. Errors as of ListedDevice::make.
Result<std::unique_ptr<LocalWorkers>> StartWorkerThreads(
    UvLoop& loop, InprocNetwork& network, std::shared_ptr<const ForeignTrainer> foreign,
    LocalWorkersOptions options, LocalWorkers::Exited exited);

}  // namespace motley
