// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker/server_link.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "runtime/links/messages.h"
#include "runtime/memory_need.h"
#include "runtime/worker_names.h"

namespace motley {
namespace {

constexpr Duration kConnectLimit = std::chrono::seconds(10);
constexpr Duration kFirstRetry = std::chrono::milliseconds(100);
constexpr Duration kLongestRetry = std::chrono::seconds(2);
// The delay after a refusal, with `forever`.
constexpr Duration kRefusedRetry = std::chrono::seconds(20);
// After this time without a connection the user is notified.
constexpr Duration kQuietConnect = std::chrono::seconds(1);
constexpr uint32_t kSteadySteps = 8;
// After this time without an answer the user is notified.
constexpr Duration kAnswerLimit = std::chrono::seconds(5);
constexpr Duration kGoodbyeLimit = std::chrono::seconds(2);
constexpr size_t kMaxNameBytes = 64;  // Bytes of a model's name that are shown.

int64_t Seconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::seconds>(duration).count();
}

// "joined the job at host:7000 as worker 1 (alice): mlp:256, 12 of 400 steps are done"
std::string JoinedWords(const wire::AcceptT& accept, const WorkerOptions& options) {
  const std::string name = WorthSaying(options.name) ? fmt::format(" ({})", options.name) : "";
  const std::string model = accept.foreign ? "a trainer" : CleanText(accept.model, kMaxNameBytes);
  const std::string steps =
      accept.steps == 0 ? "" : fmt::format(", {} of {} steps are done", accept.step, accept.steps);
  const bool computes = accept.worker < accept.workers;
  return fmt::format("joined the job at {} as {} {}{}: {}{}", options.server,
                     computes ? "worker" : "shard server",
                     computes ? accept.worker : accept.worker - accept.workers, name, model, steps);
}

}  // namespace

std::unique_ptr<WorkerNode> WorkerNode::Create(Env env, const WorkerOptions& options) {
  return std::make_unique<ServerLink>(env, options);
}

ServerLink::ServerLink(Env env, const WorkerOptions& options)
    : self_{env, options},
      header_{.incarnation = options.incarnation},
      random_(options.incarnation, Stream::kIncarnation),
      retry_delay_(kFirstRetry),
      heartbeat_(env.loop, env.transport,
                 {[this](PeerId) {
                    Tell(
                        fmt::format("the server at {} has said nothing for {} s: it, its machine "
                                    "or the network stands still; waiting",
                                    self_.options.server, Seconds(kSilentAfter)));
                  },
                  [this](PeerId, Duration silence) {
                    Tell(fmt::format("the server at {} is back after {:.0f} s",
                                     self_.options.server, ToSeconds(silence)));
                  },
                  [this](PeerId peer) {
                    self_.env.transport.Disconnect(peer);
                    OnLost(peer, Status::Unavailable(fmt::format("it has said nothing for {} s",
                                                                 Seconds(kLostAfter))));
                  }}) {}

ServerLink::~ServerLink() {
  self_.env.transport.SetReceiver(nullptr);
  session_ = nullptr;
  StopTimer();
  if (peer_ != 0) self_.env.transport.Disconnect(peer_);
}

void ServerLink::Start(Finished finished) {
  finished_ = std::move(finished);
  since_ = self_.env.loop.Now();
  self_.env.transport.SetReceiver(this);
  Connect();
}

void ServerLink::SetAnswerFilter(AnswerFilter filter) {
  self_.filter = std::move(filter);
  if (session_) session_->SetAnswerFilter(self_.filter);
}

void ServerLink::StopTimer() {
  if (timer_ != 0) self_.env.loop.Cancel(std::exchange(timer_, 0));
}

void ServerLink::SetTimer(Duration delay, Task task) {
  StopTimer();
  timer_ = self_.env.loop.After(delay, [this, task = std::move(task)] {
    timer_ = 0;
    task();
  });
}

void ServerLink::Connect() {
  // A server that accepts the worker again sends all that it needs, because a restarted server does
  // not know what the worker has.
  session_ = nullptr;
  state_ = State::kConnecting;
  last_error_ = Status::Ok();
  peer_ = self_.env.transport.Connect(options().server);
  // TCP alone would try for minutes if packets are dropped on the way.
  const auto limit =
      std::clamp<Duration>(Deadline() - self_.env.loop.Now(), kFirstRetry, kConnectLimit);
  const auto give_up = [this, limit] {
    self_.env.transport.Disconnect(std::exchange(peer_, 0));
    RetryOrGiveUp(
        Status::Unavailable(fmt::format("no connection within {:.2g} s", ToSeconds(limit))));
  };
  if (!told_.empty() || limit <= kQuietConnect) return SetTimer(limit, give_up);
  SetTimer(kQuietConnect, [this, limit, give_up] {
    TellWaiting(Status::Unavailable("no answer so far"));
    SetTimer(limit - kQuietConnect, give_up);
  });
}

void ServerLink::OnConnected(PeerId peer, const PeerIdentity& identity) {
  if (peer != peer_) {
    if (Receiver* others = OthersOf(peer)) return others->OnConnected(peer, identity);
    return self_.env.transport.Disconnect(peer);
  }
  if (state_ != State::kConnecting) return;
  state_ = State::kJoining;
  wire::JoinT join;
  join.protocol = kProtocolVersion;
  join.token = options().token;
  join.name = options().name;
  join.index_hint = options().index_hint;
  join.incarnation = header_.incarnation;
  join.device = self_.env.device.info().name;
  join.node = options().incarnation;
  join.beats = options().heartbeat;
  join.holds_only = options().holds_only;
  SendControl(self_.env.transport, peer_, header_, std::move(join));
  SetTimer(kAnswerLimit, [this] {
    Tell(fmt::format("the server at {} has not answered yet: it may still be reading its data",
                     options().server));
    AwaitAccept();
  });
}

// A server listens before it is ready. TCP finds out if its machine is still there.
void ServerLink::AwaitAccept() {
  if (options().forever) return;
  SetTimer(std::max<Duration>(Deadline() - self_.env.loop.Now(), kAnswerLimit), [this] {
    Finish(Status::Unavailable(fmt::format("the server at {} does not answer", options().server)));
  });
}

void ServerLink::OnLost(PeerId peer, const Status& why) {
  if (peer != peer_) {
    Receiver* others = OthersOf(peer);
    return others != nullptr ? others->OnLost(peer, why) : void();
  }
  heartbeat_.Forget(peer);
  peer_ = 0;
  switch (state_) {
    case State::kConnecting:
    case State::kJoining: return RetryOrGiveUp(why);
    case State::kWorking: return OnWorkLost(why);
    case State::kLeaving: return HasLeft();
    case State::kFinished: return;
  }
}

void ServerLink::OnWorkLost(const Status& why) {
  state_ = State::kConnecting;
  session_->Stop();
  // A server that drops its worker before it had work in this many steps would probably do so
  // again.
  if (session_->steps() >= kSteadySteps) retry_delay_ = kFirstRetry;
  since_ = self_.env.loop.Now();
  Tell(fmt::format("lost the server at {}: {}; connecting again{}", options().server,
                   why.ToString(), HowLong()));
  told_ = why.ToString();
  // Bytes damaged on the way only end the connection.
  const bool other_release = why.code() == StatusCode::kConflict;
  RetryOrGiveUp(other_release ? why : Status::Unavailable("lost it: " + why.ToString()));
}

// The server may not listen yet. A random delay keeps many workers from coming back at once.
void ServerLink::RetryOrGiveUp(const Status& why) {
  const bool hopeless = why.code() != StatusCode::kUnavailable && !options().forever;
  const Duration delay = FromSeconds(ToSeconds(retry_delay_) * (0.5 + 0.5 * random_.NextDouble()));
  if (hopeless || self_.env.loop.Now() + delay > Deadline()) {
    const std::string what =
        worked_ ? fmt::format("lost the server at {}, and cannot join it again", options().server)
                : fmt::format("cannot join the server at {} (does it run, and at this address?)",
                              options().server);
    return Finish(why.WithContext(what));
  }
  TellWaiting(why);
  // The server may have accepted and only its answer was lost, so this incarnation is used up.
  header_ = {.incarnation = random_.Next64() | 1};
  SetTimer(delay, [this] { Connect(); });
  retry_delay_ = std::min(retry_delay_ * 2, kLongestRetry);
}

std::string ServerLink::HowLong() const {
  return options().forever ? "" : fmt::format(" for at most {:.0f} s", ToSeconds(options().wait));
}

void ServerLink::TellWaiting(const Status& why) {
  if (!told_.empty()) return;  // The user knows. The end of each attempt is no news.
  told_ = why.ToString();
  Tell(
      fmt::format("waiting for a server at {} ({}); trying{}", options().server, told_, HowLong()));
}

// Waits for the next job, which may accept this worker.
void ServerLink::NextServer(const Status& why) {
  const PeerId server = std::exchange(peer_, 0);
  heartbeat_.Forget(server);
  if (session_) session_->Stop();
  state_ = State::kConnecting;
  const bool refused = !why.ok();
  if (!refused || told_ != why.ToString()) {
    Tell(refused ? fmt::format("{}; trying again", why.ToString())
                 : fmt::format("waiting for the next job at {}", options().server));
  }
  told_ = refused ? why.ToString() : "the job ended";
  // This is posted because the caller is part of what is closed and dropped here.
  self_.env.loop.Post(alive_.Guard([this, server, refused] {
    if (server != 0) self_.env.transport.Disconnect(server);
    session_ = nullptr;
    if (state_ != State::kConnecting || peer_ != 0) return;
    header_ = {.incarnation = random_.Next64() | 1};
    retry_delay_ = kFirstRetry;
    SetTimer(refused ? kRefusedRetry : kFirstRetry, [this] { Connect(); });
  }));
}

void ServerLink::Tell(const std::string& text) const {
  if (options().tell) options().tell(text);
}

void ServerLink::OnAccept(const wire::AcceptT& accept) {
  if (state_ != State::kJoining) return;
  const Header header{.job = accept.job, .incarnation = header_.incarnation};
  const Status fine = OrNoMemory("the worker's copies of the model", [&] {
    auto session = WorkerSession::Create(self_, accept, peer_, header,
                                         [this](const Status& why) { Fail(why); });
    if (session.ok()) session_ = std::move(session).value();
    return session.status();
  });
  if (!fine.ok()) {
    declines_ = options().forever;
    return Fail(fine);
  }
  StopTimer();
  state_ = State::kWorking;
  header_ = header;
  told_.clear();
  worked_ = true;
  if (accept.beats && options().heartbeat) heartbeat_.Watch(peer_, header_);
  Tell(JoinedWords(accept, options()));
  session_->Measure();
}

std::span<std::byte> ServerLink::OnPayload(PeerId peer, const Header& header) {
  if (state_ == State::kLeaving || state_ == State::kFinished) return {};
  if (peer != peer_) {
    Receiver* others = OthersOf(peer);
    return others != nullptr ? others->OnPayload(peer, header) : std::span<std::byte>();
  }
  if (header.kind == FrameKind::kControl) {
    control_.resize(header.length);
    return control_;
  }
  return state_ == State::kWorking ? session_->BeginBulk(header) : std::span<std::byte>();
}

void ServerLink::OnPayloadDone(PeerId peer, const Header& header, bool discarded) {
  if (state_ == State::kLeaving || state_ == State::kFinished) return;
  if (peer != peer_) {
    Receiver* others = OthersOf(peer);
    return others != nullptr ? others->OnPayloadDone(peer, header, discarded) : void();
  }
  if (discarded || header.length == 0) return;
  header.kind == FrameKind::kControl ? OnControl() : session_->FinishBulk(header);
}

void ServerLink::OnControl() {
  const auto verified = VerifyControl(control_);
  if (!verified.ok()) return Fail(verified.status());
  if (const wire::Order* order = (*verified)->body_as_Order()) {
    return state_ == State::kWorking ? session_->OnOrder(*order) : void();
  }
  const auto control = UnpackControl(**verified);
  if (!control.ok()) return Fail(control.status());
  if (const wire::AcceptT* accept = control->body.AsAccept()) return OnAccept(*accept);
  if (const wire::LeaveT* leave = control->body.AsLeave()) return OnLeave(*leave);
  if (const wire::ErrorT* error = control->body.AsError()) {
    last_error_ = StatusOf(*error);
  } else if (state_ == State::kWorking) {
    session_->OnControl(*control);
  }
}

void ServerLink::OnLeave(const wire::LeaveT& leave) {
  if (leave.reason.empty()) {
    Tell(fmt::format("sent home by the server at {}: {}", options().server, FarewellOf(leave)));
    return options().forever ? NextServer(Status::Ok()) : Finish(Status::Ok());
  }
  const Status reason = last_error_.ok() ? Status::Unavailable(ReasonOf(leave)) : last_error_;
  const Status why =
      reason.WithContext(fmt::format("sent away by the server at {}", options().server));
  last_error_ = Status::Ok();
  options().forever ? NextServer(why) : Finish(why);
}

// A job that this worker declines, because it has no trainer or too little memory for it, may be
// followed by one that it can serve.
void ServerLink::HasLeft() {
  const Status why = last_error_;
  std::exchange(declines_, false) ? NextServer(why) : Finish(why);
}

void ServerLink::Leave() {
  if (std::exchange(declines_, false)) last_error_ = Status::Cancelled("the worker was stopped");
  if (state_ == State::kLeaving || state_ == State::kFinished || finished_ == nullptr) return;
  const Status why = Status::Cancelled("the worker was stopped");
  if (state_ != State::kWorking) return Finish(why);
  SayLeave(why, "");
}

void ServerLink::Fail(const Status& status) {
  if (state_ == State::kLeaving || state_ == State::kFinished) return;
  SayLeave(status, status.ToString());
}

// The server shows users only `reason`; it is empty if nothing is wrong.
void ServerLink::SayLeave(const Status& status, const std::string& reason) {
  state_ = State::kLeaving;
  heartbeat_.Forget(peer_);
  last_error_ = status;
  if (session_) session_->Stop();
  wire::LeaveT leave;
  leave.reason = reason;
  SendControl(self_.env.transport, peer_, header_, std::move(leave));
  // The server closes first. Closing with unread bytes of the server could lose the goodbye.
  SetTimer(kGoodbyeLimit, [this] { HasLeft(); });
}

void ServerLink::Finish(Status status) {
  if (state_ == State::kFinished) return;
  state_ = State::kFinished;
  StopTimer();
  heartbeat_.Forget(peer_);
  // This is posted so that the caller may destroy this node, and so that no part is destroyed
  // inside its own callback.
  self_.env.loop.Post(alive_.Guard([this, status = std::move(status)] {
    session_ = nullptr;
    if (peer_ != 0) self_.env.transport.Disconnect(std::exchange(peer_, 0));
    const Finished finished = std::exchange(finished_, nullptr);
    if (finished) finished(status);
  }));
}

}  // namespace motley
