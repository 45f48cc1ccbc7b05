// SPDX-License-Identifier: Apache-2.0
#include "sim/sim_connection.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/assert.h"

namespace motley {

void SimConnection::SetEnd(int side, SimTransport* owner, PeerId id) {
  ends_[side].owner = owner;
  ends_[side].loop = &owner->loop_;
  ends_[side].id = id;
}

void SimConnection::Send(int side, SendId id, const Header& header,
                         std::span<const BytesView> pieces, Priority priority,
                         Transport::Done done) {
  End& from = ends_[side];
  Outgoing message{id, header, {}, {}, std::move(done)};
  if (!pieces.empty()) {
    message.piece = pieces.front();
    message.more.assign(pieces.begin() + 1, pieces.end());
  }
  from.waiting[static_cast<size_t>(priority)].push_back(std::move(message));
  from.queued_bytes += header.length;
  SchedulePump(side);
}

bool SimConnection::Cancel(int side, SendId id) {
  End& from = ends_[side];
  for (auto& queue : from.waiting) {
    size_t at = 0;
    while (at < queue.size() && queue[at].id != id) ++at;
    if (at == queue.size()) continue;
    Outgoing message = queue.Take(at);
    from.queued_bytes -= message.header.length;
    from.owner->Finish(std::move(message.done), Status::Cancelled("the message was taken back"));
    return true;
  }
  return false;
}

void SimConnection::PushSignal(int side, Frame::Kind kind) {
  Frame frame;
  frame.kind = kind;
  Push(side, std::move(frame), 0);
}

// False when nobody reads it any more.
bool SimConnection::Push(int side, Frame frame, size_t size) {
  Lane& lane = lanes_[side];
  if (ends_[1 - side].owner == nullptr) return false;
  const SimLinkOptions& options = link_->options;
  const Time now = ends_[side].loop->Now();
  const Time start = std::max({now, lane.wire_free, link_->clogged_until});
  const SimLinkWay way = options.Way(side);
  Duration on_wire{};
  if (way.bytes_per_second > 0) {
    on_wire = FromSeconds(static_cast<double>(size) / way.bytes_per_second);
  }
  Duration delay = way.latency;
  if (options.jitter > Duration::zero()) {
    delay += FromSeconds(link_->random.Exponential(ToSeconds(options.jitter)));
  }
  lane.wire_free = start + on_wire;
  frame.head = std::max(lane.last_tail, start + delay);
  frame.tail = std::max(frame.head, start + on_wire + delay);
  lane.last_tail = frame.tail;
  lane.frames.push_back(std::move(frame));
  Schedule(side);
  return true;
}

void SimConnection::Schedule(int side) {
  Lane& lane = lanes_[side];
  End& to = ends_[1 - side];
  if (lane.timer != 0 || lane.frames.empty() || to.owner == nullptr) return;
  const Frame& front = lane.frames.front();
  const Time ready = std::max(front.begun ? front.tail : front.head, link_->clogged_until);
  const Duration wait = std::max(ready - to.loop->Now(), Duration::zero());
  // Stopped before its end lets go of this connection, so no guard is needed.
  lane.timer = to.loop->After(wait, [this, side] { Deliver(side); });
}

void SimConnection::SchedulePump(int side) {
  End& from = ends_[side];
  if (from.pump != 0 || from.owner == nullptr || !from.up) return;
  from.pump = from.loop->After(Duration::zero(), [this, side] { Pump(side); });
}

// Moves messages into the socket buffer, whole, as long as it is not full: control first.
void SimConnection::Pump(int side) {
  const auto self = shared_from_this();  // A Done may disconnect.
  End& from = ends_[side];
  from.pump = 0;
  while (from.owner != nullptr && lanes_[side].buffered < link_->options.socket_buffer_bytes) {
    auto& queue = from.waiting[0].empty() ? from.waiting[1] : from.waiting[0];
    if (queue.empty()) return;
    Enter(side, queue.pop_front());
  }
}

void SimConnection::Enter(int side, Outgoing message) {
  End& from = ends_[side];
  Frame frame;
  frame.header = message.header;
  frame.payload = from.owner->network_.TakeBuffer();
  frame.payload.assign(message.piece.begin(), message.piece.end());
  for (const BytesView piece : message.more) {
    frame.payload.insert(frame.payload.end(), piece.begin(), piece.end());
  }
  const size_t size = WireBytes(message.header);
  Replay(side, message.header);
  if (Push(side, std::move(frame), size)) lanes_[side].buffered += size;
  Replay(side, message.header);
  from.queued_bytes -= message.header.length;
  --from.owner->open_sends_;
  if (message.done) message.done(Status::Ok());
}

// Now and then a twin comes before or after a message, from or for an older life and with other
// content: nobody may use it. Zeros pass every check but the fence.
void SimConnection::Replay(int side, const Header& header) {
  if (header.kind == FrameKind::kControl || link_->options.replay <= 0) return;
  if (!link_->random.Chance(link_->options.replay / 2)) return;
  constexpr std::byte kLarge{0x4e};  // Four of them are the float 8.6e8.
  Frame frame;
  frame.header = header;
  frame.header.incarnation ^= 1;
  frame.payload.assign(header.length, link_->random.Chance(0.5) ? std::byte{0} : kLarge);
  const size_t size = WireBytes(header);
  if (Push(side, std::move(frame), size)) lanes_[side].buffered += size;
}

void SimConnection::Deliver(int side) {
  const auto self = shared_from_this();  // The receiver may disconnect.
  lanes_[side].timer = 0;
  while (DeliverFront(side)) {
  }
  Schedule(side);
}

// Hands over the first frame, or its beginning, if it is due. False when there is nothing to do.
bool SimConnection::DeliverFront(int side) {
  Lane& lane = lanes_[side];
  End& to = ends_[1 - side];
  if (to.owner == nullptr || lane.frames.empty()) return false;
  Frame& front = lane.frames.front();
  const Time ready = std::max(front.begun ? front.tail : front.head, link_->clogged_until);
  if (ready > to.loop->Now()) return false;
  if (front.kind == Frame::Kind::kMessage && !front.begun) {
    BeginMessage(to, front);
    return true;
  }
  Frame frame = lane.frames.pop_front();
  switch (frame.kind) {
    case Frame::Kind::kHello: OnHello(1 - side); break;
    case Frame::Kind::kMessage: EndMessage(side, std::move(frame)); break;
    case Frame::Kind::kFin: Lose(1 - side); break;
  }
  return true;
}

void SimConnection::BeginMessage(End& to, Frame& frame) {
  frame.begun = true;
  Receiver* receiver = to.owner->receiver_;
  if (receiver == nullptr || frame.header.length == 0) return;
  frame.into = receiver->OnPayload(to.id, frame.header);
  MOTLEY_ASSERT(frame.into.empty() || frame.into.size() >= frame.header.length);
}

void SimConnection::EndMessage(int side, Frame frame) {
  End& to = ends_[1 - side];
  Lane& lane = lanes_[side];
  lane.buffered -= WireBytes(frame.header);
  SchedulePump(side);
  Receiver* receiver = to.owner->receiver_;
  if (receiver == nullptr) return;
  const bool discarded = frame.into.empty() && frame.header.length > 0;
  if (!frame.into.empty()) {
    std::memcpy(frame.into.data(), frame.payload.data(), frame.payload.size());
  }
  to.owner->network_.GiveBuffer(std::move(frame.payload));
  receiver->OnPayloadDone(to.id, frame.header, discarded);
}

// `side` hears the other's hello: the accepting end answers it, and both are up.
void SimConnection::OnHello(int side) {
  End& to = ends_[side];
  if (side == 1) PushSignal(1, Frame::Kind::kHello);
  to.up = true;
  SchedulePump(side);
  if (to.owner->receiver_ != nullptr) to.owner->receiver_->OnConnected(to.id);
}

void SimConnection::Lose(int side) {
  End& end = ends_[side];
  SimTransport* owner = end.owner;
  const auto self = shared_from_this();
  FailPending(end, /*at_once=*/true);
  if (end.owner == nullptr) return;  // A Done closed it.
  StopTimers(side);
  end.owner = nullptr;
  owner->TakePeer(end.id);
  if (owner->receiver_ != nullptr) {
    owner->receiver_->OnLost(
        end.id, Status::Unavailable(end.up ? "the other end closed the connection or is gone"
                                           : "the other end refused the connection"));
  }
}

// Those on the loop of this end.
void SimConnection::StopTimers(int side) {
  End& end = ends_[side];
  end.loop->Cancel(std::exchange(end.pump, 0));
  end.loop->Cancel(std::exchange(lanes_[1 - side].timer, 0));
}

void SimConnection::FailPending(End& end, bool at_once) {
  SimTransport* owner = end.owner;
  std::vector<Outgoing> pending;
  for (auto& queue : end.waiting) {
    while (!queue.empty()) pending.push_back(queue.pop_front());
  }
  end.queued_bytes = 0;
  for (Outgoing& message : pending) {
    owner->Finish(std::move(message.done), Status::Unavailable("the connection is gone"));
  }
  if (at_once) owner->RunFinished();
}

void SimConnection::CloseEnd(int side, bool died, bool lose_in_flight) {
  End& end = ends_[side];
  if (end.owner == nullptr) return;
  if (!died) FailPending(end, /*at_once=*/false);
  if (lose_in_flight) lanes_[side].frames.clear();  // Its sender is gone: nobody counts them.
  // What was on its way here is lost with it.
  StopTimers(side);
  lanes_[1 - side].frames.clear();
  end.owner = nullptr;
  PushSignal(side, Frame::Kind::kFin);
}

}  // namespace motley
