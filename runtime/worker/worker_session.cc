// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker/worker_session.h"

#include <fmt/format.h>

#include <utility>

#include "runtime/links/messages.h"
#include "runtime/links/route.h"

namespace motley {
namespace {

// A job waits no longer than this for a speed, since answers will show it. A worker that has not
// finished one sample by then counts as very slow (samples per second).
constexpr Duration kMeasuringLimit = std::chrono::seconds(10);
constexpr double kVerySlow = 0.05;

// The message to the user about a device that failed and is given up.
Status GivenUp(const DeviceInfo& device, const char* what, const Status& why) {
  if (device.kind == DeviceKind::kCpu) return why.WithContext(what);
  const char* advice = "see what its driver and the system's log say of it";
  if (why.code() == StatusCode::kResource) {
    advice = "close what else uses its memory, take a smaller model or batch";
  }
  const bool named = why.ToString().find(device.name) != std::string::npos;
  const std::string with = named ? std::string() : " with " + device.name;
  return Status(why.code(),
                fmt::format("{}{}: {} (the device is given up: {}, or leave it out of `devices`)",
                            what, with, why.ToString(), advice));
}

}  // namespace

// --- The beginning and the end ---

WorkerSession::WorkerSession(Node& node, PeerId peer, const Header& header,
                             std::function<void(const Status&)> failed)
    : node_(node), peer_(peer), header_(header), failed_(std::move(failed)) {}

WorkerSession::~WorkerSession() {
  *measured_ = true;
  if (measuring_ != 0) node_.env.loop.Cancel(measuring_);
}

Result<std::unique_ptr<WorkerSession>> WorkerSession::Create(
    Node& node, const wire::AcceptT& accept, PeerId peer, const Header& header,
    std::function<void(const Status&)> failed) {
  std::unique_ptr<WorkerSession> session(new WorkerSession(node, peer, header, std::move(failed)));
  MOTLEY_RETURN_IF_ERROR(node.options.holds_only ? session->SetUpHolder(accept)
                                                 : session->SetUp(accept));
  return session;
}

Status WorkerSession::SetUp(const wire::AcceptT& accept) {
  const Env& env = node_.env;
  MOTLEY_ASSIGN_OR_RETURN(
      shop_, MakeWorkshop(env.loop, env.device, accept, node_.options.foreign,
                          alive_.Guard([this](const Device& device, const Status& why) {
                            OnDeviceLost(device, why);
                          }),
                          env.shard_device));
  MOTLEY_ASSIGN_OR_RETURN(const WireFormat wire, WireOf(accept));
  MOTLEY_ASSIGN_OR_RETURN(const Route route,
                          Route::Parse(shop_->trainer->parameter_count(), accept.shard_ends));
  parameters_ =
      std::make_unique<ParameterInbox>(route.Parameters(accept.slice_length, wire), shop_->memory);
  partitions_ = std::make_unique<PartitionInbox>(
      shop_, PartitionInbox::Shape{accept.features, accept.classes, accept.sparse},
      alive_.Guard([this](const Status& why) { Check(why.WithContext("cannot hold data")); }),
      node_.options.memory_bytes);
  Executor::Parts parts{shop_,      *parameters_, *partitions_,
                        peer_,      header_,      route.Answers(accept.slice_length, wire),
                        accept.seed};
  if (accept.listen) {
    MOTLEY_RETURN_IF_ERROR(SetUpShards(accept, route));
    parts.peer_of = [this](uint32_t shard) {
      return links_->remote() ? links_->PeerOf(shard) : peer_;
    };
  }
  executor_ = std::make_unique<Executor>(env, std::move(parts), [this](const Status& why) {
    Check(GivenUp(node_.env.device.info(), "cannot compute", why));
  });
  executor_->SetAnswerFilter(node_.filter);
  return Status::Ok();
}

// Without `listen` the server keeps the vector, and there is nothing to hold.
Status WorkerSession::SetUpHolder(const wire::AcceptT& accept) {
  if (!accept.listen) return Status::Ok();
  MOTLEY_ASSIGN_OR_RETURN(const WireFormat wire, WireOf(accept));
  MOTLEY_ASSIGN_OR_RETURN(const Route route,
                          Route::Parse(accept.parameter_count, accept.shard_ends));
  parameters_ = std::make_unique<ParameterInbox>(route.Parameters(accept.slice_length, wire));
  return SetUpShards(accept, route);
}

// A device that does not share the host's memory cannot hold a shard, but its worker may use those
// of others.
Status WorkerSession::SetUpShards(const wire::AcceptT& accept, const Route& route) {
  const Env& env = node_.env;
  wire::ShardJoinT join;
  join.protocol = kProtocolVersion;
  join.token = node_.options.token;
  join.job = accept.job;
  join.worker = accept.worker;
  join.incarnation = header_.incarnation;
  links_ = std::make_unique<ShardLinks>(
      ShardLinks::Parts{env.loop, env.transport, *parameters_, header_, join, node_.options.server,
                        route.shards(), peer_, accept.workers, accept.workers + accept.servers},
      ShardLinks::Hooks{[this] { Advance(); },
                        alive_.Guard([this](const Status& why) { Check(why); })});
  Device& device = env.shard_device != nullptr ? *env.shard_device : env.device;
  if (!device.host_accessible()) return Status::Ok();
  MOTLEY_RETURN_IF_ERROR(Listen());
  host_ = std::make_unique<ShardHost>(
      ShardHost::Parts{env.loop, env.transport, device, peer_, header_,
                       [this](WorkerId worker) { return links_->Link(worker); }, links_->load(),
                       alive_.Guard([this](const Status& why) {
                         Check(why.WithContext("cannot hold a part of the vector"));
                       })},
      ShardHost::Job{accept.job, node_.options.token, accept.workers,
                     accept.workers + accept.servers,
                     static_cast<uint32_t>(accept.partition_sizes.size()), route,
                     accept.slice_length, static_cast<WireFormat>(accept.wire), accept.seed});
  parameters_->SetCame([this](uint32_t shard, uint64_t version, std::span<const float> values) {
    Check(host_->Read(shard, version, values));
  });
  return Status::Ok();
}

Status WorkerSession::Listen() {
  if (!node_.address.empty()) return Status::Ok();
  auto bound = node_.env.transport.Listen(node_.options.listen);
  if (!bound.ok()) return bound.status().WithContext("cannot accept other workers");
  node_.address = std::move(bound).value();
  return Status::Ok();
}

void WorkerSession::Stop() {
  stopped_ = true;
  if (executor_ != nullptr) executor_->Stop();
  if (measuring_ != 0) node_.env.loop.Cancel(std::exchange(measuring_, 0));
}

void WorkerSession::Advance() {
  if (!stopped_ && executor_ != nullptr) executor_->Advance();
}

void WorkerSession::Check(const Status& status) {
  if (!status.ok() && !stopped_) failed_(status);
}

Receiver* WorkerSession::OthersOf(PeerId peer) {
  if (links_ == nullptr) return nullptr;
  if (links_->Knows(peer)) return links_.get();
  return host_.get();
}

// --- Devices ---

void WorkerSession::Measure() {
  if (executor_ == nullptr) {
    wire::ReadyT ready;
    if (host_ != nullptr) ready.address = node_.address;
    return SendControl(node_.env.transport, peer_, header_, ready);
  }
  // The callback keeps what the device works with alive.
  const auto then = alive_.Guard([this](const Result<double>& speed) { OnCalibrated(speed); });
  shop_->trainer->Calibrate(measured_,
                            [keep = shop_, then](const Result<double>& speed) { then(speed); });
  measuring_ = node_.env.loop.After(kMeasuringLimit, [this] {
    measuring_ = 0;
    OnCalibrated(kVerySlow);
  });
}

void WorkerSession::OnCalibrated(const Result<double>& samples_per_second) {
  if (stopped_) return;
  const bool before = measured_->exchange(true);
  if (!samples_per_second.ok()) {
    return Check(
        GivenUp(node_.env.device.info(), "cannot measure the speed", samples_per_second.status()));
  }
  if (before) return;
  if (measuring_ != 0) node_.env.loop.Cancel(std::exchange(measuring_, 0));
  executor_->Introduce(*samples_per_second, host_ != nullptr ? node_.address : "");
}

// The server notifies the user, and learns from the answers that this worker is slower.
void WorkerSession::OnDeviceLost(const Device& device, const Status& why) {
  if (stopped_) return;
  const Status said = GivenUp(device.info(), "goes on without one of its devices", why);
  SendControl(node_.env.transport, peer_, header_, ErrorMessage(said, 0));
}

// --- Messages of the server ---

std::span<std::byte> WorkerSession::BeginBulk(const Header& header) {
  if (header.job != header_.job || header.incarnation != header_.incarnation) return {};
  const auto room = RoomFor(header);
  if (room.ok()) return *room;
  Check(room.status().WithContext("cannot take what the server sent"));
  return {};
}

Result<std::span<std::byte>> WorkerSession::RoomFor(const Header& header) {
  if (executor_ != nullptr) {
    if (header.kind == FrameKind::kParameters) return parameters_->Begin(header);
    if (header.kind == FrameKind::kPartition) return partitions_->Begin(header);
  }
  if (header.kind == FrameKind::kShardState && host_ != nullptr) return host_->BeginState(header);
  if (header.kind == FrameKind::kLoad && links_ != nullptr) return links_->load().Room(header);
  return Status::DataError("a frame of a kind that belongs elsewhere");
}

void WorkerSession::FinishBulk(const Header& header) {
  Status fine;
  if (header.kind == FrameKind::kPartition) {
    fine = partitions_->Finish();
    if (fine.ok()) SendControl(node_.env.transport, peer_, header_, partitions_->TakeCame());
  } else if (header.kind == FrameKind::kShardState) {
    fine = host_->FinishState(header);
  } else if (header.kind == FrameKind::kLoad) {
    return links_->LoadArrived(header);
  } else {
    fine = parameters_->Finish();
  }
  fine.ok() ? Advance() : Check(fine);
}

void WorkerSession::OnOrder(const wire::Order& order) {
  if (executor_ == nullptr) return Check(Status::DataError("an order for a shard server"));
  if (steps_ == 0 || order.step() != order_.step) ++steps_;
  order_.terms.clear();  // An order comes in each step, so its memory is kept.
  order_.other_parts.clear();
  order_.partitions.clear();
  order.UnPackTo(&order_);
  auto terms = TermsOf(order_, static_cast<uint32_t>(shop_->schedule.partition_sizes().size()));
  if (!terms.ok()) return Check(terms.status());
  Check(executor_->Take({order_.step, order_.version, order_.order, std::move(terms).value(),
                         order_.parts, order_.keep, order_.revocable, order_.cover_known,
                         order_.attempt, order_.row, order_.waits, order_.ahead}));
}

void WorkerSession::OnControl(const wire::ControlT& control) {
  if (executor_ != nullptr && OnWork(control)) return;
  if (links_ != nullptr) Check(OnShards(control));
}

// Takes a message about work; false: it is about something else.
bool WorkerSession::OnWork(const wire::ControlT& control) {
  if (const wire::ProbeT* probe = control.body.AsProbe()) {
    Answer(*probe);
  } else if (const wire::PlaceT* place = control.body.AsPlace()) {
    Check(OnPlace(*place));
  } else if (const wire::CancelT* cancel = control.body.AsCancel()) {
    executor_->Cancel(cancel->step, cancel->order);
  } else if (const wire::FlushT* flush = control.body.AsFlush()) {
    executor_->Flush(*flush);
  } else if (const wire::RevokeT* revoke = control.body.AsRevoke()) {
    Check(executor_->Revoke(*revoke));
  } else {
    return false;
  }
  return true;
}

void WorkerSession::Answer(const wire::ProbeT& probe) {
  if (probe.answer) return;
  if (probe.slices > 0) return executor_->SendProbe(probe.slices);
  wire::ProbeT answer;
  answer.id = probe.id;
  answer.answer = true;
  SendControl(node_.env.transport, peer_, header_, answer);
}

Status WorkerSession::OnPlace(const wire::PlaceT& place) {
  MOTLEY_RETURN_IF_ERROR(partitions_->Announce(place.partitions));
  const wire::DataCameT came = partitions_->TakeCame();
  if (!came.partitions.empty()) {  // They are the caller's, so no blocks follow.
    SendControl(node_.env.transport, peer_, header_, came);
  }
  executor_->Advance();
  return Status::Ok();
}

Status WorkerSession::OnShards(const wire::ControlT& control) {
  if (const wire::ShardsT* shards = control.body.AsShards()) return links_->SetShards(*shards);
  if (const wire::LinkTestT* test = control.body.AsLinkTest()) {
    links_->Test(*test);
    return Status::Ok();
  }
  if (const wire::ShardHoldT* hold = control.body.AsShardHold()) {
    parameters_->RolledBack(hold->rollbacks);
  }
  return host_ != nullptr ? host_->OnMessage(control).status() : Status::Ok();
}

}  // namespace motley
