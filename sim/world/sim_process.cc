// SPDX-License-Identifier: Apache-2.0
#include "sim/world/sim_process.h"

#include <fmt/format.h>

#include <limits>
#include <optional>
#include <utility>

#include "devices/paced_device.h"
#include "runtime/worker_names.h"

namespace motley {
namespace {

// Streams of the simulation's draws. The network has stream 1, devices of workers have 2 and 8.
constexpr uint64_t kIncarnationDraws = 3;
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
  const bool own = index >= options.job.workers && options.shard_server_link;
  const LinkProfile& profile =
      own ? *options.shard_server_link : options.cluster.workers[index % options.job.workers].link;
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
  const uint32_t workers = options.job.workers;
  std::unique_ptr<WorkerProcess> process(new WorkerProcess(world, DescribeNode(index, workers)));
  const uint64_t draws = index + (uint64_t{life} << 32);
  process->transport_ = network.MakeTransport(process->loop_, LinkOf(options, index));
  WorkerOptions node;
  node.holds_only = index >= workers;
  if (!node.holds_only) {
    MOTLEY_RETURN_IF_ERROR(process->devices_.Open(options, index, draws));
  }
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
  Device& device = node.holds_only ? *process->shard_device_ : process->devices_.device();
  Env env{process->loop_, *process->transport_, device};
  env.shard_device = process->shard_device_.get();
  process->node_ = WorkerNode::Create(env, node);
  process->node_->SetAnswerFilter(
      [raw = process.get()](StepId step, std::span<float> vector) { raw->Filter(step, vector); });
  return process;
}

void WorkerProcess::Start() {
  if (killed_ || node_ == nullptr) return;  // It was killed, or its job is over.
  started_ = true;
  node_->Start([this](Status status) { ended_ = std::move(status); });
}

void WorkerProcess::Kill(bool lose_in_flight) {
  killed_ = true;
  transport_->Die(lose_in_flight);
  loop_.Kill();
  node_.reset();
  devices_.Drop();
  shard_device_.reset();
}

void WorkerProcess::Replay(SimDevice::Recorded recorded, double bytes_per_second) {
  if (killed_) return;
  if (recorded) devices_.Replay(recorded);
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
  transport_->Close();
  CheckReturned(who_, *transport_, violations);
  node_.reset();
  devices_.Drop();
  shard_device_.reset();
}

void WorkerProcess::CheckQuiet(Violations& violations) const {
  if (!killed_) CheckNoTimers(who_, loop_, violations);
}

void WorkerProcess::MixLastDraws(Digest& digest) {
  digest.Mix(transport_->LastDraw());
  devices_.MixLastDraws(digest);
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
