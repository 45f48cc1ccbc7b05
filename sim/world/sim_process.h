// SPDX-License-Identifier: Apache-2.0
// The simulated processes of a cluster. Each has a loop, a transport and a device, and runs the
// real node on them.
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

// Timeouts for devices that may break. Work on a healthy device rarely takes longer.
inline constexpr Patience kSimPatience{.first = std::chrono::seconds(5),
                                       .least = std::chrono::seconds(5)};
inline constexpr const char* kSimServerAddress = "server:1";

// The worker's name, the same for all of its processes, whichever place in the job they get.
std::string SimWorkerName(const SimOptions& options, WorkerId index);

class WorkerProcess {
 public:
  // `world` and `network` are borrowed. `life` numbers the processes of one worker.
  static Result<std::unique_ptr<WorkerProcess>> Create(VirtualLoop& world, SimNetwork& network,
                                                       const SimOptions& options, WorkerId index,
                                                       uint32_t life = 0);

  void Start();  // Does nothing if the process was killed before.
  bool started() const { return started_; }
  bool alive() const { return !killed_ && !ended_; }
  bool killed() const { return killed_; }
  const std::optional<Status>& ended() const { return ended_; }  // The final status of its node.
  bool paused() const { return loop_.frozen(); }

  void Kill(bool lose_in_flight);
  void Leave() { node_->Leave(); }  // The worker leaves in good order.
  void Pause() { loop_.Freeze(); }
  void Continue() { loop_.Thaw(); }
  // Scripted and random slowness multiply.
  void MultiplyScriptedSlowness(double factor);
  void SetRandomSlowness(double factor);
  // Applies the recorded times of a step that opens now. Null or 0: keeps the time or rate before.
  void Replay(SimDevice::Recorded recorded, double bytes_per_second);
  // Faults of one device. Hanging and failing are final; a stall ends.
  void HangDevice(size_t device) { devices_[device]->Hang(); }
  void StallDevice(size_t device, Time until) { devices_[device]->Stall(until); }
  const SimDevice& device(size_t number) const { return *devices_[number]; }
  void FailDevice(size_t device, Status why) { devices_[device]->Fail(std::move(why)); }
  std::vector<size_t> Unbroken() const;
  bool broken() const { return !devices_.empty() && Unbroken().empty(); }
  void Clog(Time until) { transport_->Clog(until); }
  void Cut(bool tell_server) { transport_->Cut(tell_server); }
  // The worker's first answer for this step will not be finite.
  void PoisonStep(StepId step) { poisoned_steps_.insert(step); }
  // Multiplies the worker's answers by `factor` from now on.
  void Lie(double factor) { lie_ = static_cast<float>(factor); }
  // Damages a slice of an answer for this step on its way.
  void GarbleStep(StepId step, uint64_t draw) { transport_->GarbleStep(step, draw); }
  uint64_t garbled() const { return transport_->garbled(); }
  uint64_t blocks_taken() const { return transport_->blocks_taken(); }

  // Ends the process in good order and checks that every send was done. Call CheckQuiet when posted
  // tasks have run; it checks that no timer is left. A killed process is not checked.
  void TearDown(Violations& violations);
  void CheckQuiet(Violations& violations) const;
  size_t max_queued_bytes() const { return transport_->max_queued_bytes(); }
  // Mixes in one more draw of every random source of the process, to compare two runs.
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
  std::vector<std::unique_ptr<SimDevice>> devices_;      // One device, or two that are joined.
  std::vector<std::unique_ptr<WatchedDevice>> watched_;  // In front of devices that may break.
  std::unique_ptr<Device> host_;                         // Adds the sums of joined devices.
  std::unique_ptr<JoinedDevice> joined_;                 // Null: one device.
  std::unique_ptr<Device> shard_device_;                 // Updates shards, in no time.
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
  // kInvalidArgument if the job's options cannot work. `store` takes checkpoints and may be null.
  static Result<std::unique_ptr<ServerProcess>> Create(VirtualLoop& world, SimNetwork& network,
                                                       const SimOptions& options,
                                                       const DataSource& data,
                                                       JobObserver* observer, Store* store);

  void Start();
  void Stop(const std::string& reason) { node_->Stop(reason); }
  const std::optional<JobResult>& result() const { return result_; }
  size_t max_queued_bytes() const { return transport_->max_queued_bytes(); }
  void Kill();  // Acts like a machine that loses its power.
  void TearDown(Violations& violations);
  void CheckQuiet(Violations& violations) const;

 private:
  explicit ServerProcess(VirtualLoop& world) : loop_(world) {}

  NodeLoop loop_;
  std::unique_ptr<SimTransport> transport_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Device> audit_device_;       // Null: audits take no time.
  std::unique_ptr<Device> evaluation_device_;  // Null: evaluations take no time.
  std::unique_ptr<Disk> disk_;
  std::unique_ptr<ServerNode> node_;
  std::optional<JobResult> result_;
};

}  // namespace motley
