// SPDX-License-Identifier: Apache-2.0
// One connection of the simulated network: two ends, and two lanes of frames under way. Only for
// sim_network, which keeps each connection for its own lifetime.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "base/fifo.h"
#include "sim/world/sim_network.h"

namespace motley {

class SimConnection {
 public:
  // The links of the end that connects, and of the one that accepts.
  SimConnection(std::shared_ptr<SimLink> link, std::shared_ptr<SimLink> accepting);

  // Side 0 connects, side 1 accepts.
  void SetEnd(int side, SimTransport* owner, PeerId id);
  // Sends the first half of the handshake from side 0.
  void Open() { PushSignal(0, Frame::Kind::kHello); }

  void Send(int side, SendId id, const Header& header, std::span<const BytesView> pieces,
            Priority priority, Transport::Done&& done);
  // Takes back message `id`. False if it does not wait: it is unknown or in the socket buffer.
  bool Cancel(int side, SendId id);
  size_t queued_bytes(int side) const { return ends_[side].queued_bytes; }
  Traffic traffic(int side) const;
  // Breaks the connection: frames under way are lost in both directions. The end that connected is
  // notified. The accepting end is notified only with `tell_listener`; otherwise its end stays
  // open.
  void Break(bool tell_listener);
  // Closes this end. The other end loses the connection after it received the frames under way.
  // Pending Done run through the owner, or never if the process `died`.
  void CloseEnd(int side, bool died, bool lose_in_flight);

 private:
  // A message that waits to enter the socket buffer.
  struct Outgoing {
    SendId id = 0;
    Header header;
    BytesView piece;  // The first piece; most messages have only this one.
    std::vector<BytesView> more;
    Transport::Done done;
  };
  struct Frame {
    enum class Kind { kHello, kMessage, kFin };
    Kind kind = Kind::kMessage;
    Header header;
    Bytes payload;
    size_t wire_bytes = 0;
    Time head{};  // The arrivals of the first and the last byte.
    Time tail{};
    bool begun = false;  // OnPayload was called.
    std::span<std::byte> into;
  };
  struct End {
    SimTransport* owner = nullptr;  // Null once closed.
    NodeLoop* loop = nullptr;
    PeerId id = 0;
    bool up = false;  // The handshake is done.
    std::array<Fifo<Outgoing>, 2> waiting;
    size_t queued_bytes = 0;
    Traffic traffic;
    TimerId pump = 0;  // Runs on this end's loop.
  };
  // Frames from end `i` to the other one.
  struct Lane {
    Fifo<Frame> frames;
    size_t buffered = 0;  // Bytes that left the sender and that the receiver has not taken.
    Time wire_free{};
    Time last_tail{};
    TimerId timer = 0;  // Runs on the receiving end's loop.
  };

  size_t WireBytes(const Header& header) const {
    return kHeaderSize + link_->options.vectors.PayloadBytes(header);
  }
  void PushSignal(int side, Frame::Kind kind);
  // With `ports` the frame passes the ports of both ends.
  Frame* Push(int side, Frame::Kind kind, size_t size, bool ports = false);
  void Schedule(int side);
  void SchedulePump(int side, bool again = false);
  Duration TurnOf(int side, bool again) const;
  void Pump(int side);
  void EnterFront(int side, Fifo<Outgoing>& queue);
  void Replay(int side, const Header& header);
  void Deliver(int side);
  Time DueAt(const Frame& frame) const;
  void TakeSignal(int side);
  void BeginMessage(int side, Frame& frame);
  void EndMessage(int side);
  void OnHello(int side);
  void Lose(int side);
  static void FailPending(End& end, SimTransport& owner, bool at_once);
  void StopTimers(int side);

  SimPort* PortOf(int side) const;  // Null: it has none that others share.
  SimLinkWay WayFrom(int side) const;
  Time clogged_until() const;

  const bool within_;              // A process connected to itself.
  std::shared_ptr<SimLink> link_;  // The link of side 0, and that of side 1.
  std::shared_ptr<SimLink> accepting_;
  std::array<End, 2> ends_;
  std::array<Lane, 2> lanes_;
};

}  // namespace motley
