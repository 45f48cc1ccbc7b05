// SPDX-License-Identifier: Apache-2.0
#include "runtime/coordinator/server_inbox.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/coordinator/event_pump.h"
#include "runtime/coordinator/job_ending.h"
#include "runtime/coordinator/step_watch.h"
#include "runtime/links/messages.h"
#include "runtime/links/vector_probe.h"
#include "runtime/links/worker_claims.h"
#include "runtime/worker_names.h"
#include "transport/stream/tcp_address.h"

namespace motley {
namespace {

constexpr uint32_t kMaxJoinBytes = 4096;  // The longest message that is read from a stranger.
// The limit per connection. Each complaint is sent as text, and pending texts would pile up here.
constexpr uint32_t kMaxComplaints = 32;

}  // namespace

ServerInbox::ServerInbox(ServerContext& server)
    : server_(server),
      ends_(server.options.places()),
      reports_(server.options.places()),
      probes_(server.env.loop, server.env.transport) {}

void ServerInbox::OnShortage(const Status& why) { server_.Say(notice::Trouble{why}); }

void ServerInbox::Closed(PeerId peer) {
  incoming_.erase(peer);
  last_incoming_ = nullptr;
  probes_.Forget(peer);
}

bool ServerInbox::Ours(const Session& session, const Header& header) const {
  return header.job == server_.options.job_id && header.incarnation == session.header.incarnation;
}

std::span<std::byte> ServerInbox::OnPayload(PeerId peer, const Header& header) {
  if (header.kind == FrameKind::kControl) return BeginControl(peer, header);
  const std::optional<WorkerId> worker = server_.peers.WorkerOf(peer);
  if (worker && server_.remote != nullptr && RemoteUpdates::Takes(header.kind)) {
    const Session* session = server_.SessionOf(*worker);
    if (session == nullptr || !Ours(*session, header)) return {};
    const auto room = server_.remote->BeginFrame(*worker, header);
    if (room.ok()) return *room;
    server_.peers.SendAway(peer, room.status());
    return {};
  }
  const bool computes = worker && server_.Computes(*worker);
  if (computes && (header.kind == FrameKind::kGradient || header.kind == FrameKind::kProbe)) {
    Session* session = server_.SessionOf(*worker);
    if (session == nullptr) return {};  // The job has ended.
    return header.kind == FrameKind::kGradient ? BeginSlice(peer, *session, header)
                                               : BeginProbe(peer, *session, header);
  }
  if (server_.peers.Probing(peer)) return probes_.Room(peer, header);
  if (worker && header.kind == FrameKind::kLoad) return {};  // It comes late.
  server_.peers.SendAway(peer, Status::DataError(worker ? "only a server sends such frames"
                                                        : "a join is due before anything else"));
  return {};
}

ServerInbox::Incoming& ServerInbox::From(PeerId peer) {
  if (last_incoming_ == nullptr || last_peer_ != peer) {
    last_incoming_ = &incoming_[peer];
    last_peer_ = peer;
  }
  return *last_incoming_;
}

std::span<std::byte> ServerInbox::BeginControl(PeerId peer, const Header& header) {
  if (server_.peers.Greeting(peer) && header.length > kMaxJoinBytes) {
    server_.peers.SendAway(
        peer, Status::DataError(fmt::format("a join of {} bytes, of which {} are allowed",
                                            header.length, kMaxJoinBytes)));
  }
  if (!server_.peers.Greeting(peer) && !server_.peers.WorkerOf(peer) &&
      !server_.peers.Probing(peer))
    return {};
  Bytes& bytes = From(peer).control;
  bytes.resize(header.length);
  return bytes;
}

std::span<std::byte> ServerInbox::BeginSlice(PeerId peer, Session& session, const Header& header) {
  server_.vector_probe.Disturb();
  Answers::Slice& slice = From(peer).slice;
  const Result<bool> wanted =
      server_.answers.Begin(session.worker, header, /*fenced=*/!Ours(session, header), slice);
  if (!wanted.ok()) OnAnswerFault(peer, wanted.status(), header.step);
  if (!wanted.ok() || !*wanted) return {};
  server_.watch.Progress();
  session.transfer.Began(header, server_.Now());
  return slice.Room();
}

// A bad answer is the worker's fault; running out of memory is the server's.
void ServerInbox::OnAnswerFault(PeerId peer, const Status& fault, StepId step) {
  if (fault.code() != StatusCode::kResource) return Complain(peer, fault, step);
  server_.end.End(fault.WithContext(fmt::format("the answers of step {} do not fit", step)));
}

std::span<std::byte> ServerInbox::BeginProbe(PeerId peer, Session& session, const Header& header) {
  if (!Ours(session, header)) return {};
  const Result<std::span<std::byte>> room = session.turn.Begin(header);
  if (room.ok()) return *room;
  server_.peers.SendAway(peer, room.status());
  return {};
}

void ServerInbox::OnPayloadDone(PeerId peer, const Header& header, bool discarded) {
  if (header.kind == FrameKind::kControl) {
    if (discarded) return;
    // OnPayload was not asked for room, so the room still has the previous message.
    if (header.length == 0) From(peer).control.clear();
    return OnControl(peer, From(peer).control);
  }
  if (header.length == 0) {  // OnPayload was not called; it refuses every empty slice.
    OnPayload(peer, header);
    return;
  }
  // Late slices used the links as well, and may have begun before a measurement did.
  if (header.kind == FrameKind::kGradient) server_.vector_probe.Disturb();
  const std::optional<WorkerId> worker = server_.peers.WorkerOf(peer);
  if (!discarded && server_.peers.Probing(peer)) return probes_.OnSlice(peer, header);
  if (discarded || !worker) return;
  Session* session = server_.SessionOf(*worker);
  if (session == nullptr) return;
  if (header.kind == FrameKind::kProbe) return session->turn.Finish();
  if (RemoteUpdates::Takes(header.kind)) {
    if (server_.remote == nullptr) return;  // The star was chosen while the frame arrived.
    const Status fine = server_.remote->FinishFrame(*worker, header);
    return fine.ok() ? void() : server_.peers.SendAway(peer, fine);
  }
  FinishSlice(peer, *session, header);
}

void ServerInbox::FinishSlice(PeerId peer, Session& session, const Header& header) {
  const WorkerId worker = session.worker;
  const Time now = server_.Now();
  const auto rest = session.transfer.Came(header, now);
  if (rest && server_.options.measure_links) {
    server_.observer.OnEvent(
        event::VectorReceived{header.step, worker, rest->bytes, rest->time, now});
  }
  const Status fine = server_.answers.Finish(worker, From(peer).slice);
  if (!fine.ok()) OnAnswerFault(peer, fine, header.step);
}

void ServerInbox::Complain(PeerId peer, const Status& why, StepId step) {
  const std::optional<WorkerId> worker = server_.peers.WorkerOf(peer);
  if (!worker) return;  // The worker was sent away meanwhile.
  if (++From(peer).complaints > kMaxComplaints) {
    return server_.peers.Ban(*worker, why.WithContext("too many bad messages"));
  }
  SendControl(
      server_.env.transport, peer, server_.peers.HeaderTo(*worker, FrameKind::kControl),
      ErrorMessage(why.WithContext("refused from " +
                                   DescribeWorker(*worker, server_.peers.seats()[*worker].name)),
                   step));
}

void ServerInbox::OnControl(PeerId peer, BytesView bytes) {
  const Result<const wire::Control*> verified = VerifyControl(bytes);
  const std::optional<WorkerId> worker = server_.peers.WorkerOf(peer);
  const bool computes = worker && server_.Computes(*worker);
  if (computes && verified.ok() && OnFrequent(peer, *worker, **verified)) return;
  Result<wire::ControlT> control =
      verified.ok() ? UnpackControl(**verified) : Result<wire::ControlT>(verified.status());
  if (server_.peers.Probing(peer)) {
    OnProbeControl(peer, control);
  } else if (!control.ok()) {
    server_.peers.SendAway(peer, control.status());
  } else if (worker) {
    OnWorkerControl(peer, *worker, *control);
  } else if (server_.peers.Greeting(peer)) {
    OnGreeting(peer, *control);
  }
}

void ServerInbox::OnGreeting(PeerId peer, const wire::ControlT& control) {
  const wire::ProbeJoinT* probe = control.body.AsProbeJoin();
  if (probe != nullptr) {
    if (!server_.peers.Probe(peer, *probe)) return;
    if (Status fine = probes_.Begin(peer); !fine.ok()) server_.peers.SendAway(peer, fine);
    return;
  }
  const wire::JoinT* join = control.body.AsJoin();
  if (join != nullptr) return server_.peers.Join(peer, *join);
  server_.peers.SendAway(peer, Status::DataError("a join is due before anything else"));
}

void ServerInbox::OnProbeControl(PeerId peer, const Result<wire::ControlT>& control) {
  const Status fine = control.ok() ? probes_.OnControl(peer, *control) : control.status();
  if (!fine.ok()) server_.peers.SendAway(peer, fine);
}

// Handles messages that come several times in each step, without allocating memory for them.
bool ServerInbox::OnFrequent(PeerId peer, WorkerId worker, const wire::Control& control) {
  Status fine;
  if (const wire::AnswerEnd* end = control.body_as_AnswerEnd()) {
    wire::AnswerEndT values;
    end->UnPackTo(&values);
    fine = OnEnd(peer, worker, values);
  } else if (const wire::Progress* progress = control.body_as_Progress()) {
    wire::ProgressT values;
    progress->UnPackTo(&values);
    fine = OnProgress(worker, values);
  } else {
    return false;
  }
  if (!fine.ok()) server_.peers.SendAway(peer, fine);
  return true;
}

void ServerInbox::OnWorkerControl(PeerId peer, WorkerId worker, const wire::ControlT& control) {
  Status fine;
  if (const wire::ErrorT* error = control.body.AsError()) {
    if (server_.end.ended()) return;
    const std::optional<uint64_t> before = reports_.Pass(worker, server_.Now());
    if (before) server_.Say(notice::Reported{worker, StatusOf(*error), *before});
  } else if (const wire::LeaveT* leave = control.body.AsLeave()) {
    const std::string why = ReasonOf(*leave);
    server_.peers.Disconnect(
        peer, why.empty() ? Status::Cancelled("it left") : Status::Unavailable("it left: " + why));
  } else if (const wire::ProbeT* probe = control.body.AsProbe()) {
    if (Session* session = server_.SessionOf(worker)) session->link.OnAnswer(*probe);
  } else if (const auto* released = control.body.AsReleased();
             released != nullptr && server_.Computes(worker)) {
    fine = server_.answers.OnReleased(worker, *released);
  } else if (const wire::DataCameT* came = control.body.AsDataCame();
             came != nullptr && server_.Computes(worker)) {
    fine = OnDataCame(worker, *came);
  } else if (const wire::ReadyT* ready = control.body.AsReady()) {
    fine = OnReady(worker, *ready);
  } else if (!IsOfShards(worker, control, fine) && control.body.type != wire::Body::NONE) {
    fine = Status::DataError(
        fmt::format("a worker does not send {}", wire::EnumNameBody(control.body.type)));
  }
  if (!fine.ok()) server_.peers.SendAway(peer, fine);
}

// Takes what a worker reports about shards that it holds, and about its links.
bool ServerInbox::IsOfShards(WorkerId worker, const wire::ControlT& control, Status& fine) {
  const bool reports =
      control.body.AsLinkReport() != nullptr || control.body.AsShardReached() != nullptr;
  if (server_.remote == nullptr && reports) return true;  // It comes after the star was chosen.
  if (server_.remote == nullptr || server_.SessionOf(worker) == nullptr) return false;
  const Result<bool> taken = server_.remote->OnMessage(worker, control);
  if (!taken.ok()) fine = taken.status();
  return !taken.ok() || *taken;
}

// The address at which other workers reach one that listens everywhere.
std::string ServerInbox::AddressOf(WorkerId worker, const std::string& address) const {
  const std::string& host = server_.peers.seats()[worker].origin.host;
  const bool same = host.empty() || host == kThisMachine;
  return ReplaceAnyHost(address, [&](bool) { return same ? std::string("127.0.0.1") : host; });
}

Status ServerInbox::OnReady(WorkerId worker, const wire::ReadyT& ready) {
  MOTLEY_RETURN_IF_ERROR(CheckClaims(ready));
  Session* session = server_.SessionOf(worker);
  if (session == nullptr) return Status::Ok();  // The job has ended.
  if (std::exchange(session->ready, true)) {
    return Status::DataError("it said that it is ready before");
  }
  if (server_.remote != nullptr && !server_.Computes(worker) && ready.address.empty()) {
    return Status::DataError("a shard server that listens at no address");
  }
  server_.peers.GotReady(worker);
  if (server_.remote != nullptr) {
    server_.remote->Ready(worker, AddressOf(worker, ready.address),
                          server_.peers.seats().TimesLost(worker));
  }
  if (!server_.Computes(worker)) {
    server_.awaited->Ready(worker);
    return Status::Ok();
  }
  server_.record.Holds(worker, ready.held_bytes);
  server_.pump.Raise(WorkerFree{worker, 0, Duration::zero(), ready.samples_per_second});
  return Status::Ok();
}

Status ServerInbox::OnDataCame(WorkerId worker, const wire::DataCameT& report) {
  Session* session = server_.SessionOf(worker);
  if (session == nullptr) return Status::Ok();  // The job has ended.
  const uint64_t before = session->feed.bytes_came();
  MOTLEY_RETURN_IF_ERROR(session->feed.Came(report));
  const bool more = session->feed.bytes_came() > before;
  if (more || !report.partitions.empty()) server_.watch.Progress();
  if (report.partitions.empty()) return Status::Ok();
  server_.pump.Raise(DataCame{worker, report.partitions});
  return Status::Ok();
}

Status ServerInbox::OnProgress(WorkerId worker, const wire::ProgressT& progress) {
  MOTLEY_RETURN_IF_ERROR(CheckClaims(progress, server_.options.batch));
  return server_.answers.OnProgress(worker, progress);
}

// An end may overtake slices that go to other nodes.
Status ServerInbox::OnEnd(PeerId peer, WorkerId worker, const wire::AnswerEndT& end) {
  MOTLEY_RETURN_IF_ERROR(CheckClaims(end, server_.options.batch));
  if (ends_[worker].empty() && !server_.answers.Awaits(worker, end))
    return TakeEnd(peer, worker, end);
  ends_[worker].push_back(end);
  return Status::Ok();
}

void ServerInbox::TakeWaitingEnds() {
  for (WorkerId worker = 0; worker < ends_.size(); ++worker) {
    std::deque<wire::AnswerEndT>& ends = ends_[worker];
    while (!ends.empty() && !server_.answers.Awaits(worker, ends.front())) {
      const wire::AnswerEndT end = ends.front();
      ends.pop_front();
      const PeerId peer = server_.peers.seats()[worker].peer;
      if (Status fine = TakeEnd(peer, worker, end); !fine.ok()) server_.peers.SendAway(peer, fine);
    }
  }
}

Status ServerInbox::TakeEnd(PeerId peer, WorkerId worker, const wire::AnswerEndT& end) {
  server_.record.Holds(worker, end.held_bytes);
  const Result<bool> given = server_.answers.OnEnd(worker, end);
  if (!given.ok()) {
    OnAnswerFault(peer, given.status(), end.step);
    return Status::Ok();
  }
  if (!*given) {
    return Status::DataError(
        fmt::format("the end of order {} of step {}, which was not assigned", end.order, end.step));
  }
  if (end.entries > 0) return Status::Ok();  // The list goes on.
  const Duration compute(end.compute_ns);
  server_.observer.OnEvent(
      event::WorkComputed{end.step, worker, end.samples, compute, /*so_far=*/false, server_.Now()});
  server_.pump.Raise(WorkerFree{worker, end.samples, compute, 0});
  return Status::Ok();
}

}  // namespace motley
