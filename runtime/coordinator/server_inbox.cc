// SPDX-License-Identifier: Apache-2.0
// Messages of peers to the server, checked before any of them counts.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/coordinator/server_job.h"
#include "runtime/links/messages.h"
#include "runtime/links/worker_claims.h"

namespace motley {
namespace {

constexpr uint32_t kMaxJoinBytes = 4096;  // The longest message that is read from a stranger.
// The limit per connection. Each complaint is sent as text, and pending texts would pile up here.
constexpr uint32_t kMaxComplaints = 32;

}  // namespace

void ServerJob::OnConnected(PeerId peer, const PeerIdentity& identity) {
  peers_.OnConnected(peer, identity);
}

void ServerJob::OnLost(PeerId peer, const Status& why) { peers_.OnLost(peer, why); }

std::span<std::byte> ServerJob::OnPayload(PeerId peer, const Header& header) {
  if (header.kind == FrameKind::kControl) return BeginControl(peer, header);
  const std::optional<WorkerId> worker = peers_.WorkerOf(peer);
  if (worker && header.kind == FrameKind::kGradient) return BeginSlice(peer, *worker, header);
  if (worker && header.kind == FrameKind::kProbe) return BeginProbe(peer, *worker, header);
  if (peers_.Probing(peer)) return probes_.Room(peer, header);
  peers_.SendAway(peer, Status::DataError(worker ? "only a server sends such frames"
                                                 : "a join is due before anything else"));
  return {};
}

ServerJob::Incoming& ServerJob::From(PeerId peer) {
  if (last_incoming_ == nullptr || last_peer_ != peer) {
    last_incoming_ = &incoming_[peer];
    last_peer_ = peer;
  }
  return *last_incoming_;
}

std::span<std::byte> ServerJob::BeginControl(PeerId peer, const Header& header) {
  if (peers_.Greeting(peer) && header.length > kMaxJoinBytes) {
    peers_.SendAway(peer,
                    Status::DataError(fmt::format("a join of {} bytes, of which {} are allowed",
                                                  header.length, kMaxJoinBytes)));
  }
  if (!peers_.Greeting(peer) && !peers_.WorkerOf(peer) && !peers_.Probing(peer)) return {};
  Bytes& bytes = From(peer).control;
  bytes.resize(header.length);
  return bytes;
}

std::span<std::byte> ServerJob::BeginSlice(PeerId peer, WorkerId worker, const Header& header) {
  vector_probe_.Disturb();
  Session* session = SessionOf(worker);
  if (session == nullptr) return {};  // The job has ended.
  const bool fenced = header.job != job_ || header.incarnation != session->header.incarnation;
  Answers::Slice& slice = From(peer).slice;
  const Result<bool> wanted = answers_->Begin(worker, header, fenced, slice);
  if (!wanted.ok()) OnAnswerFault(peer, wanted.status(), header.step);
  if (!wanted.ok() || !*wanted) return {};
  watch_.Progress();
  session->transfer.Began(header, env_.loop.Now());
  return std::as_writable_bytes(std::span(slice.values));
}

// A bad answer is the worker's fault; running out of memory is the server's.
void ServerJob::OnAnswerFault(PeerId peer, const Status& fault, StepId step) {
  if (fault.code() != StatusCode::kResource) return Complain(peer, fault, step);
  End(fault.WithContext(fmt::format("the answers of step {} do not fit", step)));
}

std::span<std::byte> ServerJob::BeginProbe(PeerId peer, WorkerId worker, const Header& header) {
  Session* session = SessionOf(worker);
  if (session == nullptr || header.job != job_ ||
      header.incarnation != session->header.incarnation) {
    return {};
  }
  const Result<std::span<std::byte>> room = session->turn.Begin(header);
  if (room.ok()) return *room;
  peers_.SendAway(peer, room.status());
  return {};
}

void ServerJob::OnPayloadDone(PeerId peer, const Header& header, bool discarded) {
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
  if (header.kind == FrameKind::kGradient) vector_probe_.Disturb();
  const std::optional<WorkerId> worker = peers_.WorkerOf(peer);
  if (!discarded && peers_.Probing(peer)) return probes_.OnSlice(peer, header);
  if (discarded || !worker) return;
  Session* session = SessionOf(*worker);
  if (session == nullptr) return;
  if (header.kind == FrameKind::kProbe) return session->turn.Finish();
  const Time now = env_.loop.Now();
  const auto rest = session->transfer.Came(header, now);
  if (rest && options_.measure_links) {
    observer_.OnEvent(event::VectorReceived{header.step, *worker, rest->bytes, rest->time, now});
  }
  const Status fine = answers_->Finish(*worker, From(peer).slice);
  if (!fine.ok()) OnAnswerFault(peer, fine, header.step);
}

void ServerJob::Complain(PeerId peer, const Status& why, StepId step) {
  const std::optional<WorkerId> worker = peers_.WorkerOf(peer);
  if (!worker) return;  // The worker was sent away meanwhile.
  if (++From(peer).complaints > kMaxComplaints) {
    return peers_.Ban(*worker, why.WithContext("too many bad messages"));
  }
  SendControl(env_.transport, peer, peers_.HeaderTo(*worker, FrameKind::kControl),
              ErrorMessage(why.WithContext("refused from " + Describe(*worker)), step));
}

void ServerJob::OnControl(PeerId peer, BytesView bytes) {
  const Result<const wire::Control*> verified = VerifyControl(bytes);
  const std::optional<WorkerId> worker = peers_.WorkerOf(peer);
  if (worker && verified.ok() && OnFrequent(peer, *worker, **verified)) return;
  Result<wire::ControlT> control =
      verified.ok() ? UnpackControl(**verified) : Result<wire::ControlT>(verified.status());
  if (peers_.Probing(peer)) {
    OnProbeControl(peer, control);
  } else if (!control.ok()) {
    peers_.SendAway(peer, control.status());
  } else if (worker) {
    OnWorkerControl(peer, *worker, *control);
  } else if (peers_.Greeting(peer)) {
    OnGreeting(peer, *control);
  }
}

void ServerJob::OnGreeting(PeerId peer, const wire::ControlT& control) {
  const wire::ProbeJoinT* probe = control.body.AsProbeJoin();
  if (probe != nullptr) {
    if (!peers_.Probe(peer, *probe)) return;
    if (Status fine = probes_.Begin(peer); !fine.ok()) peers_.SendAway(peer, fine);
    return;
  }
  const wire::JoinT* join = control.body.AsJoin();
  if (join != nullptr) return peers_.Join(peer, *join);
  peers_.SendAway(peer, Status::DataError("a join is due before anything else"));
}

void ServerJob::OnProbeControl(PeerId peer, const Result<wire::ControlT>& control) {
  const Status fine = control.ok() ? probes_.OnControl(peer, *control) : control.status();
  if (!fine.ok()) peers_.SendAway(peer, fine);
}

// Handles messages that come several times in each step, without allocating memory for them.
bool ServerJob::OnFrequent(PeerId peer, WorkerId worker, const wire::Control& control) {
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
  if (!fine.ok()) peers_.SendAway(peer, fine);
  return true;
}

void ServerJob::OnWorkerControl(PeerId peer, WorkerId worker, const wire::ControlT& control) {
  Status fine;
  if (const wire::ErrorT* error = control.body.AsError()) {
    if (ended_) return;
    const std::optional<uint64_t> before = reports_.Pass(worker, env_.loop.Now());
    if (before) Say(notice::Reported{worker, StatusOf(*error), *before});
  } else if (const wire::LeaveT* leave = control.body.AsLeave()) {
    const std::string why = ReasonOf(*leave);
    peers_.Disconnect(
        peer, why.empty() ? Status::Cancelled("it left") : Status::Unavailable("it left: " + why));
  } else if (const wire::ProbeT* probe = control.body.AsProbe()) {
    if (Session* session = SessionOf(worker)) session->link.OnAnswer(*probe);
  } else if (const wire::ReleasedT* released = control.body.AsReleased()) {
    fine = answers_->OnReleased(worker, *released);
  } else if (const wire::ReadyT* ready = control.body.AsReady()) {
    fine = OnReady(worker, *ready);
  } else if (control.body.type != wire::Body::NONE) {
    fine = Status::DataError(
        fmt::format("a worker does not send {}", wire::EnumNameBody(control.body.type)));
  }
  if (!fine.ok()) peers_.SendAway(peer, fine);
}

Status ServerJob::OnReady(WorkerId worker, const wire::ReadyT& ready) {
  MOTLEY_RETURN_IF_ERROR(CheckClaims(ready));
  Session* session = SessionOf(worker);
  if (session == nullptr) return Status::Ok();  // The job has ended.
  if (std::exchange(session->ready, true)) {
    return Status::DataError("it said that it is ready before");
  }
  record_.Holds(worker, ready.held_bytes);
  peers_.GotReady(worker);
  pump_.Raise(WorkerFree{worker, 0, Duration::zero(), ready.samples_per_second});
  return Status::Ok();
}

Status ServerJob::OnProgress(WorkerId worker, const wire::ProgressT& progress) {
  MOTLEY_RETURN_IF_ERROR(CheckClaims(progress, options_.batch));
  return answers_->OnProgress(worker, progress);
}

Status ServerJob::OnEnd(PeerId peer, WorkerId worker, const wire::AnswerEndT& end) {
  MOTLEY_RETURN_IF_ERROR(CheckClaims(end, options_.batch));
  record_.Holds(worker, end.held_bytes);
  const Result<bool> given = answers_->OnEnd(worker, end);
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
  observer_.OnEvent(event::WorkComputed{end.step, worker, end.samples, compute, /*so_far=*/false,
                                        env_.loop.Now()});
  pump_.Raise(WorkerFree{worker, end.samples, compute, 0});
  return Status::Ok();
}

}  // namespace motley
