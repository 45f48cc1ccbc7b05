// SPDX-License-Identifier: Apache-2.0
#include "runtime/links/link_prober.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/links/messages.h"

namespace motley {
namespace {

constexpr Duration kProbeEvery = std::chrono::milliseconds(2);
constexpr double kIdlePart = 0.2;  // The part of the time that has probes alone.
// The part in which slices do not count, because queues fill and windows grow.
constexpr double kWarmPart = 0.2;
constexpr uint64_t kLeastAnswers = 3;
// The least slices each way in a phase that counts. The first slice does not count, because the
// beginning of its transfer is not known.
constexpr uint64_t kLeastSlices = 4;

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

LinkProber::LinkProber(Loop& loop, Transport& transport, LinkProbeOptions options)
    : loop_(loop),
      transport_(transport),
      options_(std::move(options)),
      slice_(std::make_shared<const Bytes>(kProbeSliceBytes)) {}

LinkProber::~LinkProber() {
  loop_.Cancel(timer_);
  transport_.SetReceiver(nullptr);
  for (const Stream& stream : streams_) transport_.Disconnect(stream.peer);
}

void LinkProber::Start(Done done) {
  done_ = std::move(done);
  transport_.SetReceiver(this);
  began_ = heard_ = loop_.Now();
  streams_.resize(std::clamp<size_t>(options_.streams, 1, kMostProbes));
  for (Stream& stream : streams_) {
    stream.sink.resize(kProbeSliceBytes);
    stream.peer = transport_.Connect(options_.server);
    stream.slices = std::make_unique<ProbeStream>(transport_, stream.peer, slice_);
  }
  Tick();
}

LinkProber::Stream& LinkProber::Of(PeerId peer) {
  return *std::find_if(streams_.begin(), streams_.end(),
                       [peer](const Stream& stream) { return stream.peer == peer; });
}

void LinkProber::OnConnected(PeerId peer, const PeerIdentity&) {
  wire::ProbeJoinT join;
  join.protocol = kProtocolVersion;
  join.token = options_.token;
  SendControl(transport_, peer, Header(), join);
}

void LinkProber::OnLost(PeerId, const Status& why) {
  End(why.WithContext(fmt::format("lost the server at {}", options_.server)));
}

std::span<std::byte> LinkProber::OnPayload(PeerId peer, const Header& header) {
  if (phase_ == Phase::kOver) return {};
  Stream& stream = Of(peer);
  if (header.kind != FrameKind::kControl) {
    return std::span(stream.sink).first(std::min<size_t>(header.length, stream.sink.size()));
  }
  stream.control.resize(header.length);
  return stream.control;
}

void LinkProber::OnPayloadDone(PeerId peer, const Header& header, bool discarded) {
  if (discarded || phase_ == Phase::kOver) return;
  Stream& stream = Of(peer);
  heard_ = loop_.Now();
  if (header.kind == FrameKind::kControl) {
    const auto control = DecodeControl(stream.control);
    if (!control.ok()) return End(control.status());
    return OnControl(stream, *control);
  }
  if (stream.slices_came++ == 0) stream.first_slice = heard_;
  stream.last_slice = heard_;
}

void LinkProber::OnControl(Stream& stream, const wire::ControlT& control) {
  if (const wire::ErrorT* error = control.body.AsError()) {
    return End(StatusOf(*error).WithContext(
        fmt::format("the server at {} does not let its link be measured", options_.server)));
  }
  if (const wire::LeaveT* leave = control.body.AsLeave()) {
    return End(Status::Unavailable(
        fmt::format("the server at {} has left: {}", options_.server, ReasonOf(*leave))));
  }
  if (const wire::ProbeT* answer = control.body.AsProbe()) OnAnswer(stream, *answer);
}

void LinkProber::OnAnswer(Stream& stream, const wire::ProbeT& answer) {
  if (phase_ == Phase::kJoining) {
    stream.joined = true;
    const bool all = std::all_of(streams_.begin(), streams_.end(),
                                 [](const Stream& each) { return each.joined; });
    if (all) Begin(Phase::kIdle);
    return;
  }
  if (answer.id != stream.probes || stream.sent == Time()) return;
  const Time sent = std::exchange(stream.sent, Time());
  if (sent < began_) return;  // The probe belongs to the phase before.
  round_trips_.push_back(ToSeconds(heard_ - sent));
  if (stream.answers++ == 0) {
    stream.first_received = answer.received;
    stream.first_received_ns = answer.received_ns;
  }
  stream.last_received = answer.received;
  stream.last_received_ns = answer.received_ns;
}

void LinkProber::Begin(Phase phase) {
  phase_ = phase;
  began_ = loop_.Now();
  round_trips_.clear();
  for (Stream& stream : streams_) {
    stream.answers = stream.slices_came = 0;
    stream.slices->Set(phase == Phase::kWarm || phase == Phase::kLoaded);
  }
}

void LinkProber::SendProbe(Stream& stream) {
  stream.sent = loop_.Now();
  wire::ProbeT probe;
  probe.id = ++stream.probes;
  probe.stream = phase_ == Phase::kWarm || phase_ == Phase::kLoaded;
  SendControl(transport_, stream.peer, Header(), probe);
}

// The phase has measured what it needs.
bool LinkProber::Enough() const {
  const double part = phase_ == Phase::kIdle   ? kIdlePart
                      : phase_ == Phase::kWarm ? kWarmPart
                                               : 1 - kIdlePart - kWarmPart;
  if (ToSeconds(loop_.Now() - began_) < part * options_.seconds) return false;
  return std::all_of(streams_.begin(), streams_.end(), [this](const Stream& stream) {
    if (phase_ != Phase::kLoaded) return stream.answers >= (phase_ == Phase::kIdle ? 1U : 2U);
    return stream.answers >= kLeastAnswers && stream.slices_came >= kLeastSlices &&
           stream.last_received - stream.first_received >= kLeastSlices * kProbeSliceBytes;
  });
}

void LinkProber::Tick() {
  timer_ = 0;
  if (loop_.Now() - heard_ > options_.patience) {
    return End(Status::Unavailable(
        phase_ == Phase::kJoining
            ? fmt::format("no motley server answered at {} within {:.3g} s. Is the address right, "
                          "and does no firewall keep this machine out?",
                          options_.server, ToSeconds(options_.patience))
            : fmt::format("the server at {} has said nothing for {:.3g} s", options_.server,
                          ToSeconds(options_.patience))));
  }
  if (phase_ != Phase::kJoining) {
    if (Enough()) {
      if (phase_ == Phase::kLoaded) return Finish();
      if (phase_ == Phase::kIdle) result_.idle_latency_seconds = Median(round_trips_) / 2;
      Begin(phase_ == Phase::kIdle ? Phase::kWarm : Phase::kLoaded);
    }
    for (Stream& stream : streams_) {
      if (stream.sent == Time()) SendProbe(stream);
    }
  }
  timer_ = loop_.After(kProbeEvery, [this] { Tick(); });
}

void LinkProber::Finish() {
  LinkDirection up, down;
  for (const Stream& stream : streams_) {
    const bool sane = stream.last_received > stream.first_received &&
                      stream.last_received_ns > stream.first_received_ns &&
                      stream.last_slice > stream.first_slice;
    if (!sane) {
      return End(Status::DataError(fmt::format(
          "what the server at {} tells of when how much arrived cannot be", options_.server)));
    }
    up.bytes_per_second +=
        static_cast<double>(stream.last_received - stream.first_received) /
        (1e-9 * static_cast<double>(stream.last_received_ns - stream.first_received_ns));
    down.bytes_per_second += static_cast<double>((stream.slices_came - 1) * kProbeSliceBytes) /
                             ToSeconds(stream.last_slice - stream.first_slice);
  }
  result_.loaded_latency_seconds = Median(round_trips_) / 2;
  up.latency_seconds = down.latency_seconds = result_.idle_latency_seconds;
  result_.link = {up.latency_seconds, up.bytes_per_second, down};
  End(result_);
}

void LinkProber::End(Result<LinkProbe> result) {
  if (std::exchange(phase_, Phase::kOver) == Phase::kOver) return;
  loop_.Cancel(std::exchange(timer_, 0));
  for (Stream& stream : streams_) stream.slices->Set(false);
  loop_.Post([done = std::exchange(done_, nullptr), result = std::move(result)] { done(result); });
}

}  // namespace motley
