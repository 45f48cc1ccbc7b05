// SPDX-License-Identifier: Apache-2.0
// The simulated processes of a cluster: a loop, a transport, a device and the real node on them.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "devices/joined_device.h"
#include "devices/watched_device.h"
#include "runtime/coordinator/server_node.h"
#include "runtime/worker/worker_node.h"
#include "sim/checkers/violations.h"
#include "sim/digest.h"
#include "sim/sim_cluster.h"
#include "sim/world/sim_device.h"
#include "sim/world/sim_disk.h"
#include "sim/world/sim_network.h"

namespace motley {

// With devices that may break: longer than what works ever takes, mostly.
inline constexpr Patience kSimPatience{.first = std::chrono::seconds(5),
                                       .least = std::chrono::seconds(5)};
inline constexpr const char* kSimServerAddress = "server:1";

// The same for all processes that the worker has had, whichever place in the job they get.
std::string SimWorkerName(const SimOptions& options, WorkerId index);

class WorkerProcess {
 public:
  // `world` and `network` are borrowed. `life` numbers the processes that one worker has had.
  static Result<std::unique_ptr<WorkerProcess>> Create(VirtualLoop& world, SimNetwork& network,
                                                       const SimOptions& options, WorkerId index,
                                                       uint32_t life = 0);

  void Start();  // Nothing, if it was killed before.
  bool started() const { return started_; }
  bool alive() const { return !killed_ && !ended_; }
  bool killed() const { return killed_; }
  const std::optional<Status>& ended() const { return ended_; }  // What its node finished with.
  bool paused() const { return loop_.frozen(); }

  void Kill(bool lose_in_flight);
  void Leave() { node_->Leave(); }  // In good order.
  void Pause() { loop_.Freeze(); }
  void Continue() { loop_.Thaw(); }
  // The two multiply: what a script asked for, and what chance does.
  void MultiplyScriptedSlowness(double factor);
  void SetRandomSlowness(double factor);
  // What was recorded of a step that opens now: null, 0: nothing of it, so as it was.
  void Replay(SimDevice::Recorded recorded, double bytes_per_second);
  // What becomes of one of its devices, for good.
  void HangDevice(size_t device) { devices_[device]->Hang(); }
  void StallDevice(size_t device, Time until) { devices_[device]->Stall(until); }
  const SimDevice& device(size_t number) const { return *devices_[number]; }
  void FailDevice(size_t device, Status why) { devices_[device]->Fail(std::move(why)); }
  std::vector<size_t> Unbroken() const;
  bool broken() const { return !devices_.empty() && Unbroken().empty(); }
  void Clog(Time until) { transport_->Clog(until); }
  void Cut(bool tell_server) { transport_->Cut(tell_server); }
  // Its first answer for this step will not be finite.
  void PoisonStep(StepId step) { poisoned_steps_.insert(step); }
  // Its answers are multiplied with it from now on.
  void Lie(double factor) { lie_ = static_cast<float>(factor); }
  // A slice of an answer for this step will be damaged on its way.
  void GarbleStep(StepId step, uint64_t draw) { transport_->GarbleStep(step, draw); }
  uint64_t garbled() const { return transport_->garbled(); }
  uint64_t blocks_taken() const { return transport_->blocks_taken(); }

  // Orderly end: checks that every send was done. Then, when what was posted has run, CheckQuiet:
  // no timer is left behind. Nothing for a process that was killed.
  void TearDown(Violations& violations);
  void CheckQuiet(Violations& violations) const;
  size_t max_queued_bytes() const { return transport_->max_queued_bytes(); }
  // Draws of everything random in it, to compare two runs.
  void MixLastDraws(Digest& digest);

 private:
  WorkerProcess(VirtualLoop& world, WorkerId index) : index_(index), loop_(world) {}
  Status OpenDevices(const SimOptions& options, uint64_t draws);
  Device& device();
  void DropDevices();
  void SetSlowness();
  void Filter(StepId step, std::span<float> vector);

  const WorkerId index_;
  NodeLoop loop_;
  std::unique_ptr<SimTransport> transport_;
  std::vector<std::unique_ptr<SimDevice>> devices_;      // One or, joined, two.
  std::vector<std::unique_ptr<WatchedDevice>> watched_;  // In front of them, where they may break.
  std::unique_ptr<Device> host_;                         // For the sums of joined ones,
  std::unique_ptr<JoinedDevice> joined_;                 // which are this.
  std::unique_ptr<WorkerNode> node_;
  std::optional<Status> ended_;
  bool started_ = false;
  bool killed_ = false;
  double scripted_slowness_ = 1;
  double random_slowness_ = 1;
  std::set<StepId> poisoned_steps_;
  float lie_ = 1;
};

class ServerProcess {
 public:
  // kInvalidArgument when the job's options cannot work. `store` is where checkpoints go, and may
  // be null.
  static Result<std::unique_ptr<ServerProcess>> Create(VirtualLoop& world, SimNetwork& network,
                                                       const SimOptions& options,
                                                       const DataSource& data,
                                                       JobObserver* observer, Store* store);

  void Start();
  void Stop(const std::string& reason) { node_->Stop(reason); }
  const std::optional<JobResult>& result() const { return result_; }
  size_t max_queued_bytes() const { return transport_->max_queued_bytes(); }
  void Kill();  // As a machine that loses its power.
  void TearDown(Violations& violations);
  void CheckQuiet(Violations& violations) const;

 private:
  explicit ServerProcess(VirtualLoop& world) : loop_(world) {}

  NodeLoop loop_;
  std::unique_ptr<SimTransport> transport_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Device> audit_device_;       // Null: audits take no time.
  std::unique_ptr<Device> evaluation_device_;  // Null: evaluations take none.
  std::unique_ptr<Disk> disk_;
  std::unique_ptr<ServerNode> node_;
  std::optional<JobResult> result_;
};

}  // namespace motley
