// SPDX-License-Identifier: Apache-2.0
#include "runtime/links/probe_desk.h"

#include <fmt/format.h>

#include <utility>

#include "runtime/links/messages.h"

namespace motley {
namespace {

constexpr uint32_t kMostProbeControl = 4096;
constexpr size_t kMostGreeting = 64;
constexpr Duration kGreetingLimit = std::chrono::seconds(10);

}  // namespace

Status ProbeDesk::Check(const wire::ProbeJoinT& join, const std::string& token) {
  if (join.protocol != kProtocolVersion) {
    return Status::Conflict(fmt::format(
        "the server speaks protocol version {}, this end {}: install the same release on both",
        kProtocolVersion, join.protocol));
  }
  if (SameToken(join.token, token)) return Status::Ok();
  return Status::Permission("the token is not the server's: give it in MOTLEY_TOKEN");
}

Status ProbeDesk::Begin(PeerId peer) {
  if (peers_.size() >= kMostProbes) {
    return Status::Unavailable(
        fmt::format("{} connections measure the link already: try again later", peers_.size()));
  }
  if (slice_ == nullptr) slice_ = std::make_shared<const Bytes>(kProbeSliceBytes);
  Peer& fresh = peers_[peer];
  fresh.stream = std::make_unique<ProbeStream>(transport_, peer, slice_);
  fresh.sink.resize(kProbeSliceBytes);
  wire::ProbeT welcome;
  welcome.answer = true;
  SendControl(transport_, peer, Header(), welcome);
  return Status::Ok();
}

Status ProbeDesk::OnControl(PeerId peer, const wire::ControlT& control) {
  const wire::ProbeT* asked = control.body.AsProbe();
  if (asked == nullptr) {
    return Status::DataError(fmt::format("a peer that measures the link does not send {}",
                                         wire::EnumNameBody(control.body.type)));
  }
  Peer& from = peers_.at(peer);
  wire::ProbeT answer;
  answer.id = asked->id;
  answer.answer = true;
  answer.received = from.received;
  answer.received_ns = static_cast<uint64_t>(from.received_at.time_since_epoch().count());
  SendControl(transport_, peer, Header(), answer);
  from.stream->Set(asked->stream);
  return Status::Ok();
}

std::span<std::byte> ProbeDesk::Room(PeerId peer, const Header& header) {
  Bytes& sink = peers_.at(peer).sink;
  if (header.kind != FrameKind::kProbe || header.length > sink.size()) return {};
  return std::span(sink).first(header.length);
}

void ProbeDesk::OnSlice(PeerId peer, const Header& header) {
  Peer& from = peers_.at(peer);
  from.received += header.length;
  from.received_at = loop_.Now();
}

void ProbeDesk::Forget(PeerId peer) { peers_.erase(peer); }

ProbeHost::ProbeHost(Loop& loop, Transport& transport, std::string token,
                     std::function<void()> joined)
    : loop_(loop),
      transport_(transport),
      token_(std::move(token)),
      joined_(std::move(joined)),
      desk_(loop, transport) {
  transport_.SetReceiver(this);
}

ProbeHost::~ProbeHost() {
  transport_.SetReceiver(nullptr);
  for (const auto& [peer, timer] : greeting_) loop_.Cancel(timer);
}

// An honest peer shows its token at once. Silent connections keep nobody out: each has a timeout,
// and the oldest goes when there are many.
void ProbeHost::OnConnected(PeerId peer, const PeerIdentity&) {
  if (greeting_.size() >= kMostGreeting) Cut(greeting_.begin()->first);
  greeting_[peer] = loop_.After(kGreetingLimit, [this, peer] { Cut(peer); });
}

void ProbeHost::Cut(PeerId peer) {
  transport_.Disconnect(peer);
  OnLost(peer, Status::Ok());
}

std::span<std::byte> ProbeHost::OnPayload(PeerId peer, const Header& header) {
  if (header.kind != FrameKind::kControl) {
    return desk_.Has(peer) ? desk_.Room(peer, header) : std::span<std::byte>();
  }
  if (header.length > kMostProbeControl) return {};
  control_[peer].resize(header.length);
  return control_[peer];
}

void ProbeHost::OnPayloadDone(PeerId peer, const Header& header, bool discarded) {
  Status fine = Status::DataError("only probes are served here");
  if (!discarded && header.kind != FrameKind::kControl) {
    desk_.OnSlice(peer, header);
    fine = Status::Ok();
  } else if (!discarded) {
    const auto control = DecodeControl(control_[peer]);
    fine = control.ok() ? OnControl(peer, *control) : control.status();
  }
  if (fine.ok()) return;
  desk_.Forget(peer);
  SendControl(transport_, peer, Header(), ErrorMessage(fine, 0), Priority::kControl,
              [this, peer](const Status& sent) {
                if (sent.ok()) transport_.Disconnect(peer);
              });
}

Status ProbeHost::OnControl(PeerId peer, const wire::ControlT& control) {
  if (desk_.Has(peer)) return desk_.OnControl(peer, control);
  const wire::ProbeJoinT* join = control.body.AsProbeJoin();
  if (join == nullptr) return Status::DataError("only probes are served here");
  MOTLEY_RETURN_IF_ERROR(ProbeDesk::Check(*join, token_));
  MOTLEY_RETURN_IF_ERROR(desk_.Begin(peer));
  if (const auto found = greeting_.extract(peer)) loop_.Cancel(found.mapped());
  if (joined_) joined_();
  return Status::Ok();
}

void ProbeHost::OnLost(PeerId peer, const Status&) {
  desk_.Forget(peer);
  control_.erase(peer);
  if (const auto found = greeting_.extract(peer)) loop_.Cancel(found.mapped());
}

}  // namespace motley
