// SPDX-License-Identifier: Apache-2.0
#include "runtime/coordinator/server_inbox.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/links/messages.h"
#include "runtime/links/worker_claims.h"
#include "runtime/worker_names.h"

namespace motley {
namespace {

constexpr uint32_t kMaxJoinBytes = 4096;  // The longest message that is read from a stranger.
// The limit per connection. Each complaint is sent as text, and pending texts would pile up here.
constexpr uint32_t kMaxComplaints = 32;

}  // namespace

ServerInbox::ServerInbox(const Parts& parts, Hooks hooks)
    : to_(parts),
      hooks_(std::move(hooks)),
      ends_(parts.options.workers),
      reports_(parts.options.workers),
      probes_(parts.loop, parts.transport) {}

void ServerInbox::OnShortage(const Status& why) {
  to_.observer.OnEvent(event::Noticed{notice::Trouble{why}});
}

void ServerInbox::Closed(PeerId peer) {
  incoming_.erase(peer);
  last_incoming_ = nullptr;
  probes_.Forget(peer);
}

bool ServerInbox::Ours(const Session& session, const Header& header) const {
  return header.job == to_.options.job_id && header.incarnation == session.header.incarnation;
}

std::span<std::byte> ServerInbox::OnPayload(PeerId peer, const Header& header) {
  if (header.kind == FrameKind::kControl) return BeginControl(peer, header);
  const std::optional<WorkerId> worker = to_.peers.WorkerOf(peer);
  if (worker && to_.remote != nullptr && RemoteUpdates::Takes(header.kind)) {
    const Session* session = SessionOf(*worker);
    if (session == nullptr || !Ours(*session, header)) return {};
    const auto room = to_.remote->BeginFrame(*worker, header);
    if (room.ok()) return *room;
    to_.peers.SendAway(peer, room.status());
    return {};
  }
  if (worker && (header.kind == FrameKind::kGradient || header.kind == FrameKind::kProbe)) {
    Session* session = SessionOf(*worker);
    if (session == nullptr) return {};  // The job has ended.
    return header.kind == FrameKind::kGradient ? BeginSlice(peer, *session, header)
                                               : BeginProbe(peer, *session, header);
  }
  if (to_.peers.Probing(peer)) return probes_.Room(peer, header);
  to_.peers.SendAway(peer, Status::DataError(worker ? "only a server sends such frames"
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
  if (to_.peers.Greeting(peer) && header.length > kMaxJoinBytes) {
    to_.peers.SendAway(peer,
                       Status::DataError(fmt::format("a join of {} bytes, of which {} are allowed",
                                                     header.length, kMaxJoinBytes)));
  }
  if (!to_.peers.Greeting(peer) && !to_.peers.WorkerOf(peer) && !to_.peers.Probing(peer)) return {};
  Bytes& bytes = From(peer).control;
  bytes.resize(header.length);
  return bytes;
}

std::span<std::byte> ServerInbox::BeginSlice(PeerId peer, Session& session, const Header& header) {
  to_.vector_probe.Disturb();
  Answers::Slice& slice = From(peer).slice;
  const Result<bool> wanted =
      to_.answers.Begin(session.worker, header, /*fenced=*/!Ours(session, header), slice);
  if (!wanted.ok()) OnAnswerFault(peer, wanted.status(), header.step);
  if (!wanted.ok() || !*wanted) return {};
  to_.watch.Progress();
  session.transfer.Began(header, to_.loop.Now());
  return std::as_writable_bytes(std::span(slice.values));
}

// A bad answer is the worker's fault; running out of memory is the server's.
void ServerInbox::OnAnswerFault(PeerId peer, const Status& fault, StepId step) {
  if (fault.code() != StatusCode::kResource) return Complain(peer, fault, step);
  hooks_.fail(fault.WithContext(fmt::format("the answers of step {} do not fit", step)));
}

std::span<std::byte> ServerInbox::BeginProbe(PeerId peer, Session& session, const Header& header) {
  if (!Ours(session, header)) return {};
  const Result<std::span<std::byte>> room = session.turn.Begin(header);
  if (room.ok()) return *room;
  to_.peers.SendAway(peer, room.status());
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
  if (header.kind == FrameKind::kGradient) to_.vector_probe.Disturb();
  const std::optional<WorkerId> worker = to_.peers.WorkerOf(peer);
  if (!discarded && to_.peers.Probing(peer)) return probes_.OnSlice(peer, header);
  if (discarded || !worker) return;
  Session* session = SessionOf(*worker);
  if (session == nullptr) return;
  if (header.kind == FrameKind::kProbe) return session->turn.Finish();
  if (RemoteUpdates::Takes(header.kind)) {
    const Status fine = to_.remote->FinishFrame(*worker, header);
    return fine.ok() ? void() : to_.peers.SendAway(peer, fine);
  }
  FinishSlice(peer, *session, header);
}

void ServerInbox::FinishSlice(PeerId peer, Session& session, const Header& header) {
  const WorkerId worker = session.worker;
  const Time now = to_.loop.Now();
  const auto rest = session.transfer.Came(header, now);
  if (rest && to_.options.measure_links) {
    to_.observer.OnEvent(event::VectorReceived{header.step, worker, rest->bytes, rest->time, now});
  }
  const Status fine = to_.answers.Finish(worker, From(peer).slice);
  if (!fine.ok()) OnAnswerFault(peer, fine, header.step);
}

void ServerInbox::Complain(PeerId peer, const Status& why, StepId step) {
  const std::optional<WorkerId> worker = to_.peers.WorkerOf(peer);
  if (!worker) return;  // The worker was sent away meanwhile.
  if (++From(peer).complaints > kMaxComplaints) {
    return to_.peers.Ban(*worker, why.WithContext("too many bad messages"));
  }
  SendControl(to_.transport, peer, to_.peers.HeaderTo(*worker, FrameKind::kControl),
              ErrorMessage(why.WithContext("refused from " +
                                           DescribeWorker(*worker, to_.peers.NameOf(*worker))),
                           step));
}

void ServerInbox::OnControl(PeerId peer, BytesView bytes) {
  const Result<const wire::Control*> verified = VerifyControl(bytes);
  const std::optional<WorkerId> worker = to_.peers.WorkerOf(peer);
  if (worker && verified.ok() && OnFrequent(peer, *worker, **verified)) return;
  Result<wire::ControlT> control =
      verified.ok() ? UnpackControl(**verified) : Result<wire::ControlT>(verified.status());
  if (to_.peers.Probing(peer)) {
    OnProbeControl(peer, control);
  } else if (!control.ok()) {
    to_.peers.SendAway(peer, control.status());
  } else if (worker) {
    OnWorkerControl(peer, *worker, *control);
  } else if (to_.peers.Greeting(peer)) {
    OnGreeting(peer, *control);
  }
}

void ServerInbox::OnGreeting(PeerId peer, const wire::ControlT& control) {
  const wire::ProbeJoinT* probe = control.body.AsProbeJoin();
  if (probe != nullptr) {
    if (!to_.peers.Probe(peer, *probe)) return;
    if (Status fine = probes_.Begin(peer); !fine.ok()) to_.peers.SendAway(peer, fine);
    return;
  }
  const wire::JoinT* join = control.body.AsJoin();
  if (join != nullptr) return to_.peers.Join(peer, *join);
  to_.peers.SendAway(peer, Status::DataError("a join is due before anything else"));
}

void ServerInbox::OnProbeControl(PeerId peer, const Result<wire::ControlT>& control) {
  const Status fine = control.ok() ? probes_.OnControl(peer, *control) : control.status();
  if (!fine.ok()) to_.peers.SendAway(peer, fine);
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
  if (!fine.ok()) to_.peers.SendAway(peer, fine);
  return true;
}

void ServerInbox::OnWorkerControl(PeerId peer, WorkerId worker, const wire::ControlT& control) {
  Status fine;
  if (const wire::ErrorT* error = control.body.AsError()) {
    if (hooks_.ended()) return;
    const std::optional<uint64_t> before = reports_.Pass(worker, to_.loop.Now());
    if (before)
      to_.observer.OnEvent(event::Noticed{notice::Reported{worker, StatusOf(*error), *before}});
  } else if (const wire::LeaveT* leave = control.body.AsLeave()) {
    const std::string why = ReasonOf(*leave);
    to_.peers.Disconnect(
        peer, why.empty() ? Status::Cancelled("it left") : Status::Unavailable("it left: " + why));
  } else if (const wire::ProbeT* probe = control.body.AsProbe()) {
    if (Session* session = SessionOf(worker)) session->link.OnAnswer(*probe);
  } else if (const wire::ReleasedT* released = control.body.AsReleased()) {
    fine = to_.answers.OnReleased(worker, *released);
  } else if (const wire::ReadyT* ready = control.body.AsReady()) {
    fine = OnReady(worker, *ready);
  } else if (IsOfShards(worker, control, fine)) {
    to_.watch.Progress();
  } else if (control.body.type != wire::Body::NONE) {
    fine = Status::DataError(
        fmt::format("a worker does not send {}", wire::EnumNameBody(control.body.type)));
  }
  if (!fine.ok()) to_.peers.SendAway(peer, fine);
}

// Takes what a worker reports about shards that it holds, and about its links.
bool ServerInbox::IsOfShards(WorkerId worker, const wire::ControlT& control, Status& fine) {
  if (to_.remote == nullptr || SessionOf(worker) == nullptr) return false;
  const Result<bool> taken = to_.remote->OnMessage(worker, control);
  if (!taken.ok()) fine = taken.status();
  return !taken.ok() || *taken;
}

// The address at which other workers reach one that listens everywhere.
std::string ServerInbox::AddressOf(WorkerId worker, const std::string& address) const {
  for (const std::string_view everywhere : {"0.0.0.0:", "[::]:"}) {
    if (!address.starts_with(everywhere)) continue;
    const std::string host = to_.peers.OriginOf(worker).host;
    const bool same = host.empty() || host == kThisMachine;
    return fmt::format("{}:{}", same ? "127.0.0.1" : host, address.substr(everywhere.size()));
  }
  return address;
}

Status ServerInbox::OnReady(WorkerId worker, const wire::ReadyT& ready) {
  MOTLEY_RETURN_IF_ERROR(CheckClaims(ready));
  Session* session = SessionOf(worker);
  if (session == nullptr) return Status::Ok();  // The job has ended.
  if (std::exchange(session->ready, true)) {
    return Status::DataError("it said that it is ready before");
  }
  to_.record.Holds(worker, ready.held_bytes);
  to_.peers.GotReady(worker);
  if (to_.remote != nullptr) to_.remote->Ready(worker, AddressOf(worker, ready.address));
  to_.pump.Raise(WorkerFree{worker, 0, Duration::zero(), ready.samples_per_second});
  return Status::Ok();
}

Status ServerInbox::OnProgress(WorkerId worker, const wire::ProgressT& progress) {
  MOTLEY_RETURN_IF_ERROR(CheckClaims(progress, to_.options.batch));
  return to_.answers.OnProgress(worker, progress);
}

// An end may overtake slices that go to other nodes.
Status ServerInbox::OnEnd(PeerId peer, WorkerId worker, const wire::AnswerEndT& end) {
  MOTLEY_RETURN_IF_ERROR(CheckClaims(end, to_.options.batch));
  if (ends_[worker].empty() && !to_.answers.Awaits(worker, end)) return TakeEnd(peer, worker, end);
  ends_[worker].push_back(end);
  return Status::Ok();
}

void ServerInbox::TakeWaitingEnds() {
  for (WorkerId worker = 0; worker < ends_.size(); ++worker) {
    std::deque<wire::AnswerEndT>& ends = ends_[worker];
    while (!ends.empty() && !to_.answers.Awaits(worker, ends.front())) {
      const wire::AnswerEndT end = ends.front();
      ends.pop_front();
      const PeerId peer = to_.peers.PeerOf(worker);
      if (Status fine = TakeEnd(peer, worker, end); !fine.ok()) to_.peers.SendAway(peer, fine);
    }
  }
}

Status ServerInbox::TakeEnd(PeerId peer, WorkerId worker, const wire::AnswerEndT& end) {
  to_.record.Holds(worker, end.held_bytes);
  const Result<bool> given = to_.answers.OnEnd(worker, end);
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
  to_.observer.OnEvent(event::WorkComputed{end.step, worker, end.samples, compute, /*so_far=*/false,
                                           to_.loop.Now()});
  to_.pump.Raise(WorkerFree{worker, end.samples, compute, 0});
  return Status::Ok();
}

}  // namespace motley
