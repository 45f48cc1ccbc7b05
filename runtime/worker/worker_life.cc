// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker/worker_life.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "runtime/links/messages.h"
#include "runtime/links/route.h"
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
// A server that drops its worker before it had work in this many steps would probably do so again.
constexpr uint32_t kSteadySteps = 8;
constexpr uint32_t kMostTestMilliseconds = 5000;  // Longer than any server wants.
// After this time without an answer the user is notified.
constexpr Duration kAnswerLimit = std::chrono::seconds(5);
constexpr Duration kGoodbyeLimit = std::chrono::seconds(2);
// A job waits no longer than this for a speed, since answers will show it. A worker that has not
// finished one sample by then counts as very slow (samples per second).
constexpr Duration kMeasuringLimit = std::chrono::seconds(10);
constexpr double kVerySlow = 0.05;
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
  return fmt::format("joined the job at {} as worker {}{}: {}{}", options.server, accept.worker,
                     name, model, steps);
}

}  // namespace

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

std::unique_ptr<WorkerNode> WorkerNode::Create(Env env, const WorkerOptions& options) {
  return std::make_unique<WorkerLife>(env, options);
}

WorkerLife::WorkerLife(Env env, const WorkerOptions& options)
    : env_(env),
      options_(options),
      incarnation_(options.incarnation),
      random_(options.incarnation, Stream::kIncarnation),
      retry_delay_(kFirstRetry),
      heartbeat_(env.loop, env.transport,
                 {[this](PeerId) {
                    Tell(
                        fmt::format("the server at {} has said nothing for {} s: it, its machine "
                                    "or the network stands still; waiting",
                                    options_.server, Seconds(kSilentAfter)));
                  },
                  [this](PeerId, Duration silence) {
                    Tell(fmt::format("the server at {} is back after {:.0f} s", options_.server,
                                     ToSeconds(silence)));
                  },
                  [this](PeerId peer) {
                    env_.transport.Disconnect(peer);
                    OnLost(peer, Status::Unavailable(fmt::format("it has said nothing for {} s",
                                                                 Seconds(kLostAfter))));
                  }}) {}

WorkerLife::~WorkerLife() {
  env_.transport.SetReceiver(nullptr);
  session_ = nullptr;
  if (timer_ != 0) env_.loop.Cancel(timer_);
  if (peer_ != 0) env_.transport.Disconnect(peer_);
}

void WorkerLife::Start(Finished finished) {
  finished_ = std::move(finished);
  since_ = env_.loop.Now();
  env_.transport.SetReceiver(this);
  Connect();
}

void WorkerLife::SetAnswerFilter(AnswerFilter filter) {
  filter_ = std::move(filter);
  if (session_) session_->executor->SetAnswerFilter(filter_);
}

void WorkerLife::SetTimer(Duration delay, Task task) {
  if (timer_ != 0) env_.loop.Cancel(timer_);
  timer_ = env_.loop.After(delay, [this, task = std::move(task)] {
    timer_ = 0;
    task();
  });
}

void WorkerLife::Connect() {
  DropWork();
  state_ = State::kConnecting;
  last_error_ = Status::Ok();
  peer_ = env_.transport.Connect(options_.server);
  // TCP alone would try for minutes if packets are dropped on the way.
  const auto limit = std::clamp<Duration>(Deadline() - env_.loop.Now(), kFirstRetry, kConnectLimit);
  const auto give_up = [this, limit] {
    env_.transport.Disconnect(std::exchange(peer_, 0));
    RetryOrGiveUp(
        Status::Unavailable(fmt::format("no connection within {:.2g} s", ToSeconds(limit))));
  };
  if (!told_.empty() || limit <= kQuietConnect) return SetTimer(limit, give_up);
  SetTimer(kQuietConnect, [this, limit, give_up] {
    TellWaiting(Status::Unavailable("no answer so far"));
    SetTimer(limit - kQuietConnect, give_up);
  });
}

Header WorkerLife::OwnHeader() const {
  Header header;
  header.job = session_ ? session_->job : 0;
  header.incarnation = incarnation_;
  return header;
}

void WorkerLife::OnConnected(PeerId peer, const PeerIdentity& identity) {
  if (peer != peer_) {
    if (Receiver* others = OthersOf(peer)) return others->OnConnected(peer, identity);
    return env_.transport.Disconnect(peer);
  }
  if (state_ != State::kConnecting) return;
  state_ = State::kJoining;
  wire::JoinT join;
  join.protocol = kProtocolVersion;
  join.token = options_.token;
  join.name = options_.name;
  join.index_hint = options_.index_hint;
  join.incarnation = incarnation_;
  join.device = env_.device.info().name;
  join.node = options_.incarnation;
  join.beats = options_.heartbeat;
  SendControl(env_.transport, peer_, OwnHeader(), std::move(join));
  SetTimer(kAnswerLimit, [this] {
    Tell(fmt::format("the server at {} has not answered yet: it may still be reading its data",
                     options_.server));
    AwaitAccept();
  });
}

// A server listens before it is ready. TCP finds out if its machine is still there.
void WorkerLife::AwaitAccept() {
  if (options_.forever) return;
  SetTimer(std::max<Duration>(Deadline() - env_.loop.Now(), kAnswerLimit), [this] {
    Finish(Status::Unavailable(fmt::format("the server at {} does not answer", options_.server)));
  });
}

void WorkerLife::OnLost(PeerId peer, const Status& why) {
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

void WorkerLife::OnWorkLost(const Status& why) {
  state_ = State::kConnecting;
  session_->executor->Stop();
  since_ = env_.loop.Now();
  Tell(fmt::format("lost the server at {}: {}; connecting again{}", options_.server, why.ToString(),
                   HowLong()));
  told_ = why.ToString();
  // Bytes damaged on the way only end the connection.
  const bool other_release = why.code() == StatusCode::kConflict;
  RetryOrGiveUp(other_release ? why : Status::Unavailable("lost it: " + why.ToString()));
}

// The server may not listen yet. A random delay keeps many workers from coming back at once.
void WorkerLife::RetryOrGiveUp(const Status& why) {
  const bool hopeless = why.code() != StatusCode::kUnavailable && !options_.forever;
  const Duration delay = FromSeconds(ToSeconds(retry_delay_) * (0.5 + 0.5 * random_.NextDouble()));
  if (hopeless || env_.loop.Now() + delay > Deadline()) {
    const std::string what =
        worked_ ? fmt::format("lost the server at {}, and cannot join it again", options_.server)
                : fmt::format("cannot join the server at {} (does it run, and at this address?)",
                              options_.server);
    return Finish(why.WithContext(what));
  }
  TellWaiting(why);
  // The server may have accepted and only its answer was lost, so this incarnation is used up.
  incarnation_ = random_.Next64() | 1;
  SetTimer(delay, [this] { Connect(); });
  retry_delay_ = std::min(retry_delay_ * 2, kLongestRetry);
}

std::string WorkerLife::HowLong() const {
  return options_.forever ? "" : fmt::format(" for at most {:.0f} s", ToSeconds(options_.wait));
}

void WorkerLife::TellWaiting(const Status& why) {
  if (!told_.empty()) return;  // The user knows. The end of each attempt is no news.
  told_ = why.ToString();
  Tell(fmt::format("waiting for a server at {} ({}); trying{}", options_.server, told_, HowLong()));
}

// Waits for the next job, which may accept this worker.
void WorkerLife::NextServer(const Status& why) {
  const PeerId server = std::exchange(peer_, 0);
  heartbeat_.Forget(server);
  if (session_) session_->executor->Stop();
  state_ = State::kConnecting;
  const bool refused = !why.ok();
  if (!refused || told_ != why.ToString()) {
    Tell(refused ? fmt::format("{}; trying again", why.ToString())
                 : fmt::format("waiting for the next job at {}", options_.server));
  }
  told_ = refused ? why.ToString() : "the job ended";
  // This is posted because the caller is part of what is closed and dropped here.
  env_.loop.Post(alive_.Guard([this, server, refused] {
    if (server != 0) env_.transport.Disconnect(server);
    DropWork();
    if (state_ != State::kConnecting || peer_ != 0) return;
    incarnation_ = random_.Next64() | 1;
    retry_delay_ = kFirstRetry;
    SetTimer(refused ? kRefusedRetry : kFirstRetry, [this] { Connect(); });
  }));
}

// A server that accepts the worker again sends all that it needs, because a restarted server does
// not know what the worker has.
void WorkerLife::DropWork() { session_ = nullptr; }

void WorkerLife::Tell(const std::string& text) const {
  if (options_.tell) options_.tell(text);
}

void WorkerLife::OnAccept(const wire::AcceptT& accept) {
  if (state_ != State::kJoining) return;
  Status fine = OrNoMemory("the worker's copies of the model", [&] { return SetUp(accept); });
  if (!fine.ok()) {
    declines_ = options_.forever;
    return Fail(std::move(fine));
  }
  env_.loop.Cancel(std::exchange(timer_, 0));
  state_ = State::kWorking;
  told_.clear();
  worked_ = true;
  if (accept.beats && options_.heartbeat) heartbeat_.Watch(peer_, OwnHeader());
  Tell(JoinedWords(accept, options_));
  Measure();
}

void WorkerLife::Measure() {
  // The callback keeps what the device works with alive. It may run after the worker has joined
  // again.
  const auto then = alive_.Guard([this](const Workshop* shop, const Result<double>& speed) {
    if (session_ && shop == session_->shop.get()) OnCalibrated(speed);
  });
  session_->shop->trainer->Calibrate(
      session_->measured,
      [keep = session_->shop, then](const Result<double>& speed) { then(keep.get(), speed); });
  SetTimer(kMeasuringLimit, [this] { OnCalibrated(kVerySlow); });
}

void WorkerLife::OnCalibrated(const Result<double>& samples_per_second) {
  if (state_ != State::kWorking) return;
  const bool before = session_->measured->exchange(true);
  if (!samples_per_second.ok()) {
    return Fail(
        GivenUp(env_.device.info(), "cannot measure the speed", samples_per_second.status()));
  }
  if (before) return;
  if (timer_ != 0) env_.loop.Cancel(std::exchange(timer_, 0));
  session_->executor->Introduce(*samples_per_second, session_->host != nullptr ? address_ : "");
}

// The server notifies the user, and learns from the answers that this worker is slower.
void WorkerLife::OnDeviceLost(const Device& device, const Status& why) {
  if (state_ != State::kWorking) return;  // Nothing may precede the Join.
  const Status said = GivenUp(device.info(), "goes on without one of its devices", why);
  SendControl(env_.transport, peer_, OwnHeader(), ErrorMessage(said, 0));
}

std::span<std::byte> WorkerLife::OnPayload(PeerId peer, const Header& header) {
  if (state_ == State::kLeaving || state_ == State::kFinished) return {};
  if (peer != peer_) {
    Receiver* others = OthersOf(peer);
    return others != nullptr ? others->OnPayload(peer, header) : std::span<std::byte>();
  }
  if (header.kind == FrameKind::kControl) {
    control_.resize(header.length);
    return control_;
  }
  const bool ours = session_ && header.job == session_->job && header.incarnation == incarnation_;
  if (state_ != State::kWorking || !ours) return {};
  auto room = BeginBulk(header);
  if (room.ok()) return *room;
  Fail(room.status().WithContext("cannot take what the server sent"));
  return {};
}

Result<std::span<std::byte>> WorkerLife::BeginBulk(const Header& header) {
  if (header.kind == FrameKind::kParameters) return session_->parameters->Begin(header);
  if (header.kind == FrameKind::kPartition) return session_->partitions->Begin(header);
  if (header.kind == FrameKind::kShardState && session_->host != nullptr) {
    return session_->host->BeginState(header);
  }
  if (header.kind == FrameKind::kLoad) return session_->load.Room(header);
  return Status::DataError("a gradient, which only workers send");
}

Status WorkerLife::FinishBulk(const Header& header) {
  if (header.kind == FrameKind::kPartition) return session_->partitions->Finish();
  if (header.kind == FrameKind::kShardState) return session_->host->FinishState(header);
  if (header.kind == FrameKind::kLoad) {
    session_->load.Arrived(session_->places, header);
    return Status::Ok();
  }
  session_->parameters->Finish();
  return Status::Ok();
}

void WorkerLife::OnPayloadDone(PeerId peer, const Header& header, bool discarded) {
  if (state_ == State::kLeaving || state_ == State::kFinished) return;
  if (peer != peer_) {
    Receiver* others = OthersOf(peer);
    return others != nullptr ? others->OnPayloadDone(peer, header, discarded) : void();
  }
  if (discarded || header.length == 0) return;
  if (header.kind == FrameKind::kControl) {
    return OnControl();
  }
  if (Status fine = FinishBulk(header); !fine.ok()) return Fail(std::move(fine));
  session_->executor->Advance();
}

void WorkerLife::OnControl() {
  const auto verified = VerifyControl(control_);
  if (!verified.ok()) return Fail(verified.status());
  if (const wire::Order* order = (*verified)->body_as_Order()) {
    if (state_ != State::kWorking) return;
    order_.terms.clear();  // An order comes in each step, so its memory is kept.
    order_.other_parts.clear();
    order_.partitions.clear();
    order->UnPackTo(&order_);
    return OnOrder(order_);
  }
  const auto control = UnpackControl(**verified);
  if (!control.ok()) return Fail(control.status());
  OnOther(*control);
}

void WorkerLife::OnOther(const wire::ControlT& control) {
  if (const wire::AcceptT* accept = control.body.AsAccept()) return OnAccept(*accept);
  if (const wire::LeaveT* leave = control.body.AsLeave()) return OnLeave(*leave);
  if (const wire::ErrorT* error = control.body.AsError()) {
    last_error_ = StatusOf(*error);
    return;
  }
  if (state_ != State::kWorking) return;
  if (const wire::ProbeT* probe = control.body.AsProbe()) return Answer(*probe);
  if (const wire::PlaceT* place = control.body.AsPlace()) return OnPlace(*place);
  if (const wire::LinkTestT* test = control.body.AsLinkTest()) return OnLinkTest(*test);
  if (const wire::CancelT* cancel = control.body.AsCancel()) {
    return session_->executor->Cancel(cancel->step, cancel->order);
  }
  if (const wire::FlushT* flush = control.body.AsFlush()) return session_->executor->Flush(*flush);
  if (const wire::RevokeT* revoke = control.body.AsRevoke()) {
    if (Status fine = session_->executor->Revoke(*revoke); !fine.ok()) Fail(std::move(fine));
    return;
  }
  OnShards(control);
}

// The server sends this before any work, so the load delays nothing.
void WorkerLife::OnLinkTest(const wire::LinkTestT& test) {
  std::vector<LinkLoad::To> to;
  for (const uint32_t node : test.nodes) {
    const bool server = node == session_->places;
    const PeerId peer = server                       ? peer_
                        : session_->links != nullptr ? session_->links->Link(node)
                                                     : 0;
    if (peer != 0) to.push_back({peer, OwnHeader()});
  }
  const Duration time =
      std::chrono::milliseconds(std::min(test.milliseconds, kMostTestMilliseconds));
  session_->load.Start(test.id, time, to, [this](const wire::LinkReportT& report) {
    SendControl(env_.transport, peer_, OwnHeader(), report);
  });
}

void WorkerLife::Answer(const wire::ProbeT& probe) {
  if (probe.answer) return;
  if (probe.slices > 0) return session_->executor->SendProbe(probe.slices);
  wire::ProbeT answer;
  answer.id = probe.id;
  answer.answer = true;
  SendControl(env_.transport, peer_, OwnHeader(), answer);
}

void WorkerLife::OnPlace(const wire::PlaceT& place) {
  if (Status fine = session_->partitions->Announce(place.partitions); !fine.ok()) {
    return Fail(std::move(fine));
  }
  session_->executor->Advance();
}

void WorkerLife::CountStep(StepId step) {
  if (session_->steps > 0 && step == session_->step) return;
  session_->step = step;
  if (++session_->steps == kSteadySteps) retry_delay_ = kFirstRetry;
}

void WorkerLife::OnOrder(const wire::OrderT& order) {
  CountStep(order.step);
  const auto partitions = static_cast<uint32_t>(session_->shop->schedule.partition_sizes().size());
  auto terms = TermsOf(order, partitions);
  if (!terms.ok()) return Fail(terms.status());
  Status fine = session_->executor->Take(
      {order.step, order.version, order.order, std::move(terms).value(), order.parts, order.keep,
       order.revocable, order.cover_known, order.attempt, order.row});
  if (!fine.ok()) Fail(std::move(fine));
}

void WorkerLife::OnLeave(const wire::LeaveT& leave) {
  if (leave.reason.empty()) {
    Tell(fmt::format("sent home by the server at {}: {}", options_.server, FarewellOf(leave)));
    return options_.forever ? NextServer(Status::Ok()) : Finish(Status::Ok());
  }
  const Status reason = last_error_.ok() ? Status::Unavailable(ReasonOf(leave)) : last_error_;
  const Status why =
      reason.WithContext(fmt::format("sent away by the server at {}", options_.server));
  last_error_ = Status::Ok();
  options_.forever ? NextServer(why) : Finish(why);
}

// A job that this worker declines, because it has no trainer or too little memory for it, may be
// followed by one that it can serve.
void WorkerLife::HasLeft() {
  const Status why = last_error_;
  std::exchange(declines_, false) ? NextServer(why) : Finish(why);
}

void WorkerLife::Leave() {
  if (std::exchange(declines_, false)) last_error_ = Status::Cancelled("the worker was stopped");
  if (state_ == State::kLeaving || state_ == State::kFinished || finished_ == nullptr) return;
  const Status why = Status::Cancelled("the worker was stopped");
  if (state_ != State::kWorking) return Finish(why);
  SayLeave(why, "");
}

void WorkerLife::Fail(Status status) {
  if (state_ == State::kLeaving || state_ == State::kFinished) return;
  SayLeave(status, status.ToString());
}

// The server shows users only `reason`; it is empty if nothing is wrong.
void WorkerLife::SayLeave(const Status& status, const std::string& reason) {
  state_ = State::kLeaving;
  heartbeat_.Forget(peer_);
  last_error_ = status;
  if (session_) session_->executor->Stop();
  wire::LeaveT leave;
  leave.reason = reason;
  SendControl(env_.transport, peer_, OwnHeader(), std::move(leave));
  // The server closes first. Closing with unread bytes of the server could lose the goodbye.
  SetTimer(kGoodbyeLimit, [this] { HasLeft(); });
}

void WorkerLife::Finish(Status status) {
  if (state_ == State::kFinished) return;
  state_ = State::kFinished;
  if (timer_ != 0) env_.loop.Cancel(std::exchange(timer_, 0));
  heartbeat_.Forget(peer_);
  // This is posted so that the caller may destroy this node, and so that no part is destroyed
  // inside its own callback.
  env_.loop.Post(alive_.Guard([this, status = std::move(status)] {
    session_ = nullptr;
    if (peer_ != 0) env_.transport.Disconnect(std::exchange(peer_, 0));
    const Finished finished = std::exchange(finished_, nullptr);
    if (finished) finished(status);
  }));
}

}  // namespace motley
