// SPDX-License-Identifier: Apache-2.0
#include "runtime/links/heartbeat.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/links/messages.h"

namespace motley {
namespace {

constexpr uint32_t kLooksPerBeat = 4;
constexpr Duration kLookEvery = kBeatEvery / kLooksPerBeat;
// A beat and its frame take less. A node that sent more since the last beat sent another message.
constexpr uint64_t kMostBeatBytes = 512;

}  // namespace

Heartbeat::Heartbeat(Loop& loop, Transport& transport, Hooks hooks)
    : loop_(loop), transport_(transport), hooks_(std::move(hooks)) {}

Heartbeat::~Heartbeat() { loop_.Cancel(timer_); }

void Heartbeat::Watch(PeerId peer, const Header& header) {
  const Traffic traffic = transport_.TrafficOf(peer);
  links_[peer] = Link{header, traffic.received, traffic.sent};
  if (timer_ != 0) return;
  last_tick_ = loop_.Now();
  timer_ = loop_.After(kLookEvery, [this] { Tick(); });
}

void Heartbeat::Forget(PeerId peer) {
  links_.erase(peer);
  if (links_.empty()) loop_.Cancel(std::exchange(timer_, 0));
}

bool Heartbeat::Silent(PeerId peer) const {
  const auto found = links_.find(peer);
  return found != links_.end() && found->second.told;
}

void Heartbeat::Tick() {
  const Time now = loop_.Now();
  // Messages of peers may wait unread while this node is late, so its own lateness does not count.
  const Duration passed = std::min(now - last_tick_, kBeatEvery);
  last_tick_ = now;
  beats_ = turn_++ % kLooksPerBeat == 0;
  timer_ = loop_.After(kLookEvery, [this] { Tick(); });
  std::vector<PeerId> all;
  for (const auto& [peer, link] : links_) all.push_back(peer);
  for (const PeerId peer : all) {
    // A hook may have forgotten the peer.
    if (const auto found = links_.find(peer); found != links_.end()) {
      Look(peer, found->second, passed);
    }
  }
}

void Heartbeat::Look(PeerId peer, Link& link, Duration passed) {
  const Traffic traffic = transport_.TrafficOf(peer);
  if (beats_ && traffic.sent - link.sent <= kMostBeatBytes) {
    wire::ProbeT beat;
    beat.answer = true;  // The peer does not answer an answer.
    SendControl(transport_, peer, link.header, beat);
  }
  if (beats_) link.sent = traffic.sent;
  if (traffic.received != link.received) {
    link.received = traffic.received;
    const Duration silence = std::exchange(link.silence, Duration::zero());
    if (std::exchange(link.told, false)) hooks_.back(peer, silence);
    return;
  }
  link.silence += passed;
  if (link.silence >= kLostAfter) {
    Forget(peer);
    return hooks_.lost(peer);
  }
  // The last message may have arrived right after the previous look, and this look may be late.
  if (!link.told && link.silence >= kSilentAfter - 2 * kLookEvery) {
    link.told = true;
    hooks_.silent(peer);
  }
}

}  // namespace motley
