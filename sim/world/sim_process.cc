// SPDX-License-Identifier: Apache-2.0
#include "sim/world/sim_process.h"

#include <fmt/format.h>

#include <limits>
#include <optional>
#include <utility>

#include "devices/paced_device.h"

namespace motley {
namespace {

// Streams of the simulation's draws. The network has stream 1.
constexpr uint64_t kDeviceDraws = 2;
constexpr uint64_t kIncarnationDraws = 3;
constexpr uint64_t kSecondDeviceDraws = 8;
constexpr uint64_t kAuditDeviceDraws = 9;

std::function<void(const Header&, int, Time, Time)> WatchOf(const SimOptions& options,
                                                            WorkerId index) {
  if (!options.on_transfer) return nullptr;
  return
      [tell = options.on_transfer, index](const Header& header, int side, Time first, Time last) {
        if (header.kind != FrameKind::kGradient && header.kind != FrameKind::kParameters) return;
        tell({index, side == 0, header.step, header.offset == 0, first, last});
      };
}

SimLinkOptions LinkOf(const SimOptions& options, WorkerId index) {
  const LinkProfile& profile = options.cluster.workers[index].link;
  std::optional<SimLinkWay> back;
  if (profile.down) {
    back = SimLinkWay{FromSeconds(profile.down->latency_seconds), profile.down->bytes_per_second};
  }
  return {.latency = FromSeconds(profile.latency_seconds),
          .bytes_per_second = profile.bytes_per_second,
          .jitter = FromSeconds(options.link_jitter_seconds),
          .replay = options.random_faults.replay,
          .socket_buffer_bytes = options.socket_buffer_bytes,
          .vectors = options.vectors,
          .back = back,
          .on_frame = WatchOf(options, index)};
}

// I10: a process that has ended returned everything that it borrowed.
void CheckReturned(const std::string& who, const SimTransport& transport, Violations& violations) {
  if (transport.open_sends() == 0) return;
  violations.Add(
      fmt::format("I10: {} ended with {} sends that were never done", who, transport.open_sends()));
}

void CheckNoTimers(const std::string& who, const NodeLoop& loop, Violations& violations) {
  if (loop.pending() == 0) return;
  violations.Add(fmt::format("I10: {} left {} timers behind", who, loop.pending()));
}

}  // namespace

std::string SimWorkerName(const SimOptions& options, WorkerId index) {
  if (index < options.names.size()) return options.names[index];
  return fmt::format("worker-{}", index);
}

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::Create(VirtualLoop& world,
                                                             SimNetwork& network,
                                                             const SimOptions& options,
                                                             WorkerId index, uint32_t life) {
  std::unique_ptr<WorkerProcess> process(new WorkerProcess(world, index));
  const uint64_t draws = index + (uint64_t{life} << 32);
  process->transport_ = network.MakeTransport(process->loop_, LinkOf(options, index));
  MOTLEY_RETURN_IF_ERROR(process->OpenDevices(options, draws));
  WorkerOptions node;
  node.server = kSimServerAddress;
  node.token = options.job.token;
  node.name = SimWorkerName(options, index);
  node.index_hint = static_cast<int32_t>(index);
  Random random(options.seed, Stream::kSimulation, kIncarnationDraws, draws);
  node.incarnation = random.Next64() | 2;  // Neither this value nor the one before it is 0.
  node.wait = std::chrono::minutes(1);
  node.heartbeat = options.heartbeat;
  node.listen = fmt::format("worker-{}-{}:1", index, life);
  if (options.bring_trainer) node.foreign = options.bring_trainer();
  MOTLEY_ASSIGN_OR_RETURN(process->shard_device_, MakeInlineDevice(process->loop_));
  Env env{process->loop_, *process->transport_, process->device()};
  env.shard_device = process->shard_device_.get();
  process->node_ = WorkerNode::Create(env, node);
  process->node_->SetAnswerFilter(
      [raw = process.get()](StepId step, std::span<float> vector) { raw->Filter(step, vector); });
  return process;
}

Status WorkerProcess::OpenDevices(const SimOptions& options, uint64_t draws) {
  const bool two = index_ < options.second_devices.size() && options.second_devices[index_] > 0;
  const double second = two ? options.second_devices[index_] : 0;
  for (const double part : {1 - second, second}) {
    if (part == 0) continue;
    DeviceProfile profile = options.cluster.workers[index_].device;
    profile.samples_per_second *= part;
    const uint64_t stream = devices_.empty() ? kDeviceDraws : kSecondDeviceDraws;
    MOTLEY_ASSIGN_OR_RETURN(
        auto device,
        SimDevice::Create(loop_, profile, Random(options.seed, Stream::kSimulation, stream, draws),
                          options.processors));
    if (options.random_faults.break_every > 0) {
      watched_.push_back(std::make_unique<WatchedDevice>(loop_, *device, kSimPatience));
    }
    devices_.push_back(std::move(device));
  }
  if (!two) return Status::Ok();
  MOTLEY_ASSIGN_OR_RETURN(host_, MakeInlineDevice(loop_));
  std::vector<Device*> parts;
  for (size_t i = 0; i < devices_.size(); ++i) {
    Device* const device = devices_[i].get();
    parts.push_back(watched_.empty() ? device : watched_[i].get());
  }
  joined_ = std::make_unique<JoinedDevice>(*host_, std::move(parts), host_->info().memory_bytes);
  return Status::Ok();
}

Device& WorkerProcess::device() {
  if (joined_ != nullptr) return *joined_;
  if (!watched_.empty()) return *watched_.front();
  return *devices_.front();
}

void WorkerProcess::DropDevices() {
  joined_.reset();
  watched_.clear();
  devices_.clear();
  host_.reset();
  shard_device_.reset();
}

std::vector<size_t> WorkerProcess::Unbroken() const {
  std::vector<size_t> unbroken;
  for (size_t i = 0; i < devices_.size(); ++i) {
    if (!devices_[i]->broken()) unbroken.push_back(i);
  }
  return unbroken;
}

void WorkerProcess::Start() {
  if (killed_) return;
  started_ = true;
  node_->Start([this](Status status) { ended_ = std::move(status); });
}

void WorkerProcess::Kill(bool lose_in_flight) {
  killed_ = true;
  transport_->Die(lose_in_flight);
  loop_.Kill();
  node_.reset();
  DropDevices();
}

void WorkerProcess::MultiplyScriptedSlowness(double factor) {
  scripted_slowness_ *= factor;
  SetSlowness();
}

void WorkerProcess::SetRandomSlowness(double factor) {
  random_slowness_ = factor;
  SetSlowness();
}

void WorkerProcess::SetSlowness() {
  for (const auto& device : devices_) device->SetSlowness(scripted_slowness_ * random_slowness_);
}

void WorkerProcess::Replay(SimDevice::Recorded recorded, double bytes_per_second) {
  if (killed_) return;
  for (const auto& device : devices_) {
    if (recorded) device->Replay(recorded);
  }
  if (bytes_per_second > 0) transport_->SetRate(bytes_per_second);
}

void WorkerProcess::Filter(StepId step, std::span<float> vector) {
  if (lie_ != 1) {
    for (float& value : vector) value *= lie_;
  }
  if (poisoned_steps_.erase(step) == 0) return;
  vector[vector.size() / 2] = std::numeric_limits<float>::quiet_NaN();
}

void WorkerProcess::TearDown(Violations& violations) {
  const std::string who = fmt::format("worker {}", index_);
  transport_->Close();
  CheckReturned(who, *transport_, violations);
  node_.reset();
  DropDevices();
}

void WorkerProcess::CheckQuiet(Violations& violations) const {
  if (!killed_) CheckNoTimers(fmt::format("worker {}", index_), loop_, violations);
}

void WorkerProcess::MixLastDraws(Digest& digest) {
  digest.Mix(transport_->LastDraw());
  for (const auto& device : devices_) digest.Mix(device->LastDraw());
}

Result<std::unique_ptr<ServerProcess>> ServerProcess::Create(VirtualLoop& world,
                                                             SimNetwork& network,
                                                             const SimOptions& options,
                                                             const DataSource& data,
                                                             JobObserver* observer, Store* store) {
  std::unique_ptr<ServerProcess> process(new ServerProcess(world));
  const ServerRates rates = options.server_rates();
  process->transport_ = network.MakeTransport(
      process->loop_, {.port_bytes_per_second = rates.in, .port_out_bytes_per_second = rates.out});
  MOTLEY_ASSIGN_OR_RETURN(process->device_, MakeInlineDevice(process->loop_));
  const auto address = process->transport_->Listen(kSimServerAddress);
  if (!address.ok()) return address.status();
  if (store != nullptr) process->disk_ = MakeSimDisk(process->loop_, *store);
  if (options.audit_samples_per_second > 0) {
    const Random random(options.seed, Stream::kSimulation, kAuditDeviceDraws);
    for (auto* device : {&process->audit_device_, &process->evaluation_device_}) {
      MOTLEY_ASSIGN_OR_RETURN(
          *device,
          SimDevice::Create(process->loop_,
                            {.samples_per_second = options.audit_samples_per_second}, random));
    }
  }
  const Env env{
      process->loop_,       *process->transport_,         *process->device_,
      process->disk_.get(), process->audit_device_.get(), process->evaluation_device_.get()};
  MOTLEY_ASSIGN_OR_RETURN(process->node_, ServerNode::Create(env, options.job, data, observer));
  return process;
}

void ServerProcess::Start() {
  node_->Start([this](JobResult result) { result_ = std::move(result); });
}

void ServerProcess::Kill() {
  transport_->Die(true);
  loop_.Kill();
  node_.reset();
  disk_.reset();
  audit_device_.reset();
  evaluation_device_.reset();
  device_.reset();
}

void ServerProcess::TearDown(Violations& violations) {
  transport_->Close();
  CheckReturned("the server", *transport_, violations);
  node_.reset();
  disk_.reset();
  audit_device_.reset();
  evaluation_device_.reset();
  device_.reset();
}

void ServerProcess::CheckQuiet(Violations& violations) const {
  CheckNoTimers("the server", loop_, violations);
}

}  // namespace motley
