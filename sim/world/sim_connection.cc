// SPDX-License-Identifier: Apache-2.0
#include "sim/world/sim_connection.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/assert.h"

namespace motley {
namespace {

constexpr size_t kMostKeptBytes = 4096;  // Larger buffers of payloads are freed, not reused.

bool PassesPorts(const Header& header) { return header.kind != FrameKind::kControl; }

}  // namespace

SimConnection::SimConnection(std::shared_ptr<SimLink> link, std::shared_ptr<SimLink> accepting)
    : within_(link == accepting), link_(std::move(link)), accepting_(std::move(accepting)) {
  if (!accepting_->options.HasPort() && !within_) link_->shared = accepting_->shared = true;
}

SimPort* SimConnection::PortOf(int side) const {
  if (within_) return nullptr;
  SimLink& link = side == 0 ? *link_ : *accepting_;
  const bool passed = link.shared || (side == 1 && link.options.HasPort());
  return passed && link.port.limited() ? &link.port : nullptr;
}

SimLinkWay SimConnection::WayFrom(int side) const {
  if (within_) return {};
  SimLinkWay way = link_->options.Way(side);
  if (accepting_->options.HasPort()) return way;
  way.latency = std::max(way.latency, accepting_->options.Way(1 - side).latency);
  return way;
}

Time SimConnection::clogged_until() const {
  return within_ ? Time{} : std::max(link_->clogged_until, accepting_->clogged_until);
}

void SimConnection::SetEnd(int side, SimTransport* owner, PeerId id) {
  ends_[side].owner = owner;
  ends_[side].loop = &owner->loop_;
  ends_[side].id = id;
}

void SimConnection::Send(int side, SendId id, const Header& header,
                         std::span<const BytesView> pieces, Priority priority,
                         Transport::Done&& done) {
  End& from = ends_[side];
  Outgoing& message = from.waiting[static_cast<size_t>(priority)].push();
  message.id = id;
  message.header = header;
  message.done = std::move(done);
  message.piece = pieces.empty() ? BytesView() : pieces.front();
  message.more.clear();
  if (pieces.size() > 1) message.more.assign(pieces.begin() + 1, pieces.end());
  from.queued_bytes += header.length;
  SchedulePump(side);
}

void SimConnection::Break(bool tell_listener) {
  for (Lane& lane : lanes_) {
    lane.frames.clear();
    lane.buffered = 0;
  }
  PushSignal(1, Frame::Kind::kFin);
  if (tell_listener) PushSignal(0, Frame::Kind::kFin);
}

// Counts a message that is arriving by the part that has arrived.
Traffic SimConnection::traffic(int side) const {
  const End& end = ends_[side];
  Traffic traffic = end.traffic;
  const Lane& lane = lanes_[1 - side];
  if (lane.frames.empty() || !lane.frames.front().begun) return traffic;
  const Frame& front = lane.frames.front();
  const Time now = end.loop->Now();
  if (now < clogged_until() || front.tail <= front.head) return traffic;
  const double part = ToSeconds(now - front.head) / ToSeconds(front.tail - front.head);
  traffic.received +=
      static_cast<uint64_t>(std::clamp(part, 0.0, 1.0) * static_cast<double>(front.wire_bytes));
  return traffic;
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
  if (Frame* frame = Push(side, kind, 0)) frame->header = Header();
}

// The caller must fill in the frame at once. Null if the other end is closed.
SimConnection::Frame* SimConnection::Push(int side, Frame::Kind kind, size_t size, bool ports) {
  Lane& lane = lanes_[side];
  if (ends_[1 - side].owner == nullptr) return nullptr;
  const SimLinkOptions& options = link_->options;
  const Time now = ends_[side].loop->Now();
  Time start = std::max({now, lane.wire_free, clogged_until()});
  Time through = start;
  if (SimPort* const own = ports ? PortOf(side) : nullptr) {
    start = std::max(start, own->out.free);
    through = own->out.Pass(now, size);
  }
  const SimLinkWay way = WayFrom(side);
  Duration on_wire{};
  if (way.bytes_per_second > 0) {
    on_wire = FromSeconds(static_cast<double>(size) / way.bytes_per_second);
  }
  Duration delay = way.latency;
  if (options.jitter > Duration::zero()) {
    delay += FromSeconds(link_->random.Exponential(ToSeconds(options.jitter)));
  }
  lane.wire_free = start + on_wire;
  Frame& frame = lane.frames.push();
  frame.kind = kind;
  frame.wire_bytes = size;
  frame.head = std::max(lane.last_tail, start + delay);
  frame.tail = std::max({frame.head, start + on_wire + delay, through + delay});
  frame.begun = false;
  frame.into = {};
  lane.last_tail = frame.tail;
  lane.buffered += size;
  Schedule(side);
  return &frame;
}

void SimConnection::Schedule(int side) {
  Lane& lane = lanes_[side];
  End& to = ends_[1 - side];
  if (lane.timer != 0 || lane.frames.empty() || to.owner == nullptr) return;
  const Frame& front = lane.frames.front();
  const Duration wait = std::max(DueAt(front) - to.loop->Now(), Duration::zero());
  // No guard is needed: the timer stops before its end leaves this connection.
  lane.timer = to.loop->After(wait, [this, side] { Deliver(side); });
}

void SimConnection::SchedulePump(int side, bool again) {
  End& from = ends_[side];
  if (from.pump != 0 || from.owner == nullptr || !from.up) return;
  from.pump = from.loop->After(TurnOf(side, again), [this, side] { Pump(side); });
}

// On a shared link, connections take turns, a nanosecond each. Each end begins with the receiver
// after itself. If all began with the same one, they would wait for its link, as packets do not.
Duration SimConnection::TurnOf(int side, bool again) const {
  const uint64_t own = (side == 0 ? link_ : accepting_)->index;
  const uint64_t other = (side == 0 ? accepting_ : link_)->index;
  if (PortOf(side) == nullptr || (side == 1 && accepting_->options.HasPort())) return {};
  const uint64_t all = ends_[side].owner->network_.next_link_;
  return std::chrono::nanoseconds(again ? all : (other + all - own) % all);
}

// Moves whole messages into the socket buffer until it is full, control messages first.
void SimConnection::Pump(int side) {
  End& from = ends_[side];
  from.pump = 0;
  while (from.owner != nullptr && lanes_[side].buffered < link_->options.socket_buffer_bytes) {
    auto& queue = from.waiting[0].empty() ? from.waiting[1] : from.waiting[0];
    if (queue.empty()) return;
    EnterFront(side, queue);
    if (PortOf(side) == nullptr) continue;
    SchedulePump(side, true);  // Messages to others are next at the port.
    return;
  }
}

void SimConnection::EnterFront(int side, Fifo<Outgoing>& queue) {
  End& from = ends_[side];
  Outgoing& message = queue.front();
  const Header& header = message.header;
  const bool twins = header.kind != FrameKind::kControl && link_->options.replay > 0;
  if (twins) Replay(side, header);
  if (Frame* frame = Push(side, Frame::Kind::kMessage, WireBytes(header), PassesPorts(header))) {
    frame->header = header;
    frame->payload.assign(message.piece.begin(), message.piece.end());
    for (const BytesView piece : message.more) {
      frame->payload.insert(frame->payload.end(), piece.begin(), piece.end());
    }
    from.owner->garbler_.Pass(header, frame->payload);
  }
  if (twins) Replay(side, header);
  from.queued_bytes -= header.length;
  from.traffic.sent += WireBytes(header);
  --from.owner->open_sends_;
  const Transport::Done done = std::move(message.done);
  queue.drop_front();
  if (done) done(Status::Ok());  // `done` may disconnect.
}

// Sometimes adds a frame with another incarnation and other content before or after a message.
// Nobody may use it. Zeros pass every check except that of the incarnation.
void SimConnection::Replay(int side, const Header& header) {
  if (!link_->random.Chance(link_->options.replay / 2)) return;
  constexpr std::byte kLarge{0x4e};  // Four such bytes are the float 8.6e8.
  const std::byte content = link_->random.Chance(0.5) ? std::byte{0} : kLarge;
  Frame* frame = Push(side, Frame::Kind::kMessage, WireBytes(header));
  if (frame == nullptr) return;
  frame->header = header;
  frame->header.incarnation ^= 1;
  frame->payload.assign(header.length, content);
}

// The time at which to deliver the frame, or the rest of a frame that has begun.
Time SimConnection::DueAt(const Frame& frame) const {
  return std::max(frame.begun ? frame.tail : frame.head, clogged_until());
}

// Delivers the frames that are due. Each call may change all members: the receiver may disconnect.
void SimConnection::Deliver(int side) {
  Lane& lane = lanes_[side];
  End& to = ends_[1 - side];
  lane.timer = 0;
  const Time now = to.loop->Now();
  while (to.owner != nullptr && !lane.frames.empty() && DueAt(lane.frames.front()) <= now) {
    Frame& front = lane.frames.front();
    if (front.kind != Frame::Kind::kMessage) {
      TakeSignal(side);
    } else if (front.begun) {
      EndMessage(side);
    } else {
      BeginMessage(side, front);
    }
  }
  Schedule(side);
}

void SimConnection::TakeSignal(int side) {
  const bool hello = lanes_[side].frames.front().kind == Frame::Kind::kHello;
  lanes_[side].frames.drop_front();
  if (hello) {
    OnHello(1 - side);
  } else {
    Lose(1 - side);
  }
}

void SimConnection::BeginMessage(int side, Frame& frame) {
  End& to = ends_[1 - side];
  SimPort* const theirs = PortOf(1 - side);
  if (theirs != nullptr && PassesPorts(frame.header)) {
    frame.tail = std::max(frame.tail, theirs->in.Pass(to.loop->Now(), frame.wire_bytes));
  }
  frame.begun = true;
  Receiver* receiver = to.owner->receiver_;
  if (receiver == nullptr || frame.header.length == 0) return;
  frame.into = receiver->OnPayload(to.id, frame.header);
  MOTLEY_ASSERT(frame.into.empty() || frame.into.size() >= frame.header.length);
}

void SimConnection::EndMessage(int side) {
  End& to = ends_[1 - side];
  Lane& lane = lanes_[side];
  Frame& frame = lane.frames.front();
  const Header header = frame.header;
  const bool discarded = frame.into.empty() && header.length > 0;
  if (link_->options.on_frame) link_->options.on_frame(header, side, frame.head, frame.tail);
  if (!frame.into.empty() && to.owner->receiver_ != nullptr) {
    std::memcpy(frame.into.data(), frame.payload.data(), frame.payload.size());
  }
  if (frame.payload.capacity() > kMostKeptBytes) frame.payload = Bytes();
  lane.buffered -= frame.wire_bytes;
  to.traffic.received += frame.wire_bytes;
  lane.frames.drop_front();
  SchedulePump(side);
  const bool whole = header.offset + header.length == header.total;
  if (header.kind == FrameKind::kPartition && !discarded && whole) ++to.owner->blocks_taken_;
  Receiver* receiver = to.owner->receiver_;
  if (receiver != nullptr) receiver->OnPayloadDone(to.id, header, discarded);
}

// `side` received the other end's hello and is up. The accepting end answers with its own.
void SimConnection::OnHello(int side) {
  End& to = ends_[side];
  if (side == 1) PushSignal(1, Frame::Kind::kHello);
  to.up = true;
  SchedulePump(side);
  if (to.owner->receiver_ != nullptr)
    to.owner->receiver_->OnConnected(to.id, {"a simulated machine", "a simulated machine"});
}

void SimConnection::Lose(int side) {
  End& end = ends_[side];
  SimTransport* owner = end.owner;
  StopTimers(side);
  end.owner = nullptr;
  owner->TakePeer(end.id);  // Comes before the Done, which may send again.
  FailPending(end, *owner, /*at_once=*/true);
  if (owner->receiver_ != nullptr) {
    owner->receiver_->OnLost(
        end.id, Status::Unavailable(end.up ? "the other end closed the connection or is gone"
                                           : "the other end refused the connection"));
  }
}

// Stops the timers on this end's loop.
void SimConnection::StopTimers(int side) {
  End& end = ends_[side];
  end.loop->Cancel(std::exchange(end.pump, 0));
  end.loop->Cancel(std::exchange(lanes_[1 - side].timer, 0));
}

void SimConnection::FailPending(End& end, SimTransport& owner, bool at_once) {
  std::vector<Outgoing> pending;
  for (auto& queue : end.waiting) {
    while (!queue.empty()) pending.push_back(queue.pop_front());
  }
  end.queued_bytes = 0;
  for (Outgoing& message : pending) {
    owner.Finish(std::move(message.done), Status::Unavailable("the connection is gone"));
  }
  if (at_once) owner.RunFinished();
}

void SimConnection::CloseEnd(int side, bool died, bool lose_in_flight) {
  End& end = ends_[side];
  if (end.owner == nullptr) return;
  if (!died) FailPending(end, *end.owner, /*at_once=*/false);
  // The sender is gone, so nobody counts its frames.
  if (lose_in_flight) lanes_[side].frames.clear();
  // Frames on their way to this end are lost.
  StopTimers(side);
  lanes_[1 - side].frames.clear();
  end.owner = nullptr;
  PushSignal(side, Frame::Kind::kFin);
}

}  // namespace motley
