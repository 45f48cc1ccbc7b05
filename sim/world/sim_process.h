// SPDX-License-Identifier: Apache-2.0
// The simulated processes of a cluster. Each has a loop, a transport and a device, and runs the
// real node on them.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/coordinator/server_node.h"
#include "runtime/worker/worker_node.h"
#include "sim/checkers/violations.h"
#include "sim/digest.h"
#include "sim/sim_cluster.h"
#include "sim/world/sim_devices.h"
#include "sim/world/sim_disk.h"
#include "sim/world/sim_network.h"

namespace motley {

inline constexpr const char* kSimServerAddress = "server:1";

// The worker's name, the same for all of its processes, whichever place in the job they get.
std::string SimWorkerName(const SimOptions& options, WorkerId index);

// A worker, or a shard server if its index is behind those of the workers.
class WorkerProcess {
 public:
  // `world` and `network` are borrowed. `life` numbers the processes of one worker. A shard server
  // has a link like one of the workers, and no device that computes.
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
  // Faults act on these. A killed process has no devices.
  SimDevices& devices() { return devices_; }
  const SimDevices& devices() const { return devices_; }
  SimTransport& transport() { return *transport_; }
  // Applies the recorded times of a step that opens now. Null or 0: keeps the time or rate before.
  void Replay(SimDevice::Recorded recorded, double bytes_per_second);
  // The worker's first answer for this step will not be finite.
  void PoisonStep(StepId step) { poisoned_steps_.insert(step); }
  // Multiplies the worker's answers by `factor` from now on.
  void Lie(double factor) { lie_ = static_cast<float>(factor); }

  // Ends the process in good order and checks that every send was done. Call CheckQuiet when posted
  // tasks have run; it checks that no timer is left. A killed process is not checked.
  void TearDown(Violations& violations);
  void CheckQuiet(Violations& violations) const;
  // Mixes in one more draw of every random source of the process, to compare two runs.
  void MixLastDraws(Digest& digest);

 private:
  WorkerProcess(VirtualLoop& world, std::string who)
      : who_(std::move(who)), loop_(world), devices_(loop_) {}
  void Filter(StepId step, std::span<float> vector);

  const std::string who_;  // For violations.
  NodeLoop loop_;
  std::unique_ptr<SimTransport> transport_;
  SimDevices devices_;
  std::unique_ptr<Device> shard_device_;  // Updates shards, in no time.
  std::unique_ptr<WorkerNode> node_;
  std::optional<Status> ended_;
  bool started_ = false;
  bool killed_ = false;
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
