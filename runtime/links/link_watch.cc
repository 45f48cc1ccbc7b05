// SPDX-License-Identifier: Apache-2.0
#include "runtime/links/link_watch.h"

#include <utility>

#include "runtime/links/messages.h"

namespace motley {
namespace {

constexpr Duration kAskEvery = std::chrono::milliseconds(20);

}  // namespace

LinkWatch::LinkWatch(Loop& loop, Transport& transport, uint32_t workers, Tell tell)
    : loop_(loop), transport_(transport), tell_(std::move(tell)), seats_(workers) {}

void LinkWatch::Ask(WorkerId worker, PeerId peer, Header header, uint64_t bytes) {
  Seat& seat = seats_[worker];
  const Time now = loop_.Now();
  if (seat.waits || (seat.id != 0 && now - seat.asked < kAskEvery)) return;
  seat.behind = bytes > 0 && !seat.behind;
  seat.bytes = seat.behind ? bytes : 0;
  seat.waits = true;
  seat.asked = now;
  seat.id = next_id_++;
  wire::ProbeT probe;
  probe.id = seat.id;
  SendControl(transport_, peer, header, probe, seat.behind ? Priority::kBulk : Priority::kControl);
}

void LinkWatch::OnAnswer(WorkerId worker, const wire::ProbeT& probe) {
  Seat& seat = seats_[worker];
  if (!probe.answer || !seat.waits || probe.id != seat.id) return;
  seat.waits = false;
  tell_(worker, seat.bytes, loop_.Now() - seat.asked);
}

void LinkWatch::Forget(WorkerId worker) { seats_[worker] = Seat(); }

}  // namespace motley
