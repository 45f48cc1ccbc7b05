// SPDX-License-Identifier: Apache-2.0
#include "transport/inproc_transport.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "transport/send_queue.h"
#include "transport/task_queue.h"

namespace motley {
namespace {

class InprocTransport;

// One side of a connection. `transport` is null before it is accepted and after it is gone.
struct End {
  InprocTransport* transport = nullptr;
  PeerId peer = 0;
  SendQueue queue;
  std::optional<Outgoing> current;  // Being delivered now.
  bool pumping = false;             // A task to deliver the next message is posted.
  Traffic traffic;
};

struct Link {
  explicit Link(std::string address) : to(std::move(address)) {}
  std::string to;  // The address given to Connect.
  bool up = false;
  std::array<End, 2> ends;  // The connecting end, then the accepting end.
};

// A connection, seen from one of its ends.
struct Side {
  std::shared_ptr<Link> link;
  int index = 0;
  End& own() const { return link->ends[index]; }
  End& other() const { return link->ends[1 - index]; }
  Side Opposite() const { return {link, 1 - index}; }
};

using Listeners = std::map<std::string, InprocTransport*>;

const PeerIdentity kThisProcess{
    .address = "a node of this process", .host = "this process", .same_machine = true};

class InprocTransport final : public Transport {
 public:
  InprocTransport(Loop& loop, std::shared_ptr<Listeners> listeners)
      : loop_(loop), listeners_(std::move(listeners)), alive_(std::make_shared<bool>(true)) {}
  ~InprocTransport() override { InprocTransport::Close(); }

  void SetReceiver(Receiver* receiver) override { receiver_ = receiver; }
  Result<std::string> Listen(const std::string& address) override;
  void StopListening() override {
    std::erase_if(*listeners_, [this](const auto& each) { return each.second == this; });
  }
  PeerId Connect(const std::string& address) override;
  SendId Send(PeerId peer, Header header, std::span<const BytesView> pieces, Priority priority,
              Done done) override;
  void Cancel(SendId id) override;
  size_t QueuedBytes(PeerId peer) const override;
  Traffic TrafficOf(PeerId peer) const override {
    const auto it = sides_.find(peer);
    return it == sides_.end() ? Traffic() : it->second.own().traffic;
  }
  void Disconnect(PeerId peer) override;
  void Close() override;

 private:
  static void Establish(const Side& side);
  static void Pump(const Side& side);
  static void DeliverNext(const Side& side);
  static void Deliver(const Side& side);
  static void Lose(const Side& side, const Status& why);
  // Takes this end off its link and runs its pending Dones.
  static void Detach(const Side& side, const Status& why);

  void Accept(const Side& side);
  void RunLater(Done done, Status status);

  Loop& loop_;
  std::shared_ptr<Listeners> listeners_;
  std::shared_ptr<bool> alive_;  // Tasks that outlive the transport check it.
  Receiver* receiver_ = nullptr;
  bool closed_ = false;
  PeerId next_peer_ = 1;
  SendId next_send_ = 1;
  std::map<PeerId, Side> sides_;
  TaskQueue settled_;   // Dones of dropped connections, about to run.
  TaskQueue deferred_;  // For the next turn of the loop.
};

Result<std::string> InprocTransport::Listen(const std::string& address) {
  if (closed_) {
    return Status::Unavailable(
        fmt::format("cannot listen at {}: this transport is closed", address));
  }
  if (!listeners_->emplace(address, this).second) {
    return Status::Unavailable(fmt::format(
        "cannot listen at {}: another node of this process already listens there", address));
  }
  return address;
}

PeerId InprocTransport::Connect(const std::string& address) {
  const PeerId peer = next_peer_++;
  if (closed_) return peer;
  const Side side{std::make_shared<Link>(address), 0};
  side.own().transport = this;
  side.own().peer = peer;
  sides_.emplace(peer, side);
  loop_.Post([side] { Establish(side); });
  return peer;
}

void InprocTransport::Establish(const Side& side) {
  InprocTransport* connector = side.own().transport;
  if (connector == nullptr) return;
  const auto listener = connector->listeners_->find(side.link->to);
  if (listener == connector->listeners_->end()) {
    Lose(side, Status::Unavailable(fmt::format("cannot connect to {}: no node of this process "
                                               "listens there",
                                               side.link->to)));
    return;
  }
  side.link->up = true;
  listener->second->Accept(side.Opposite());
  for (const Side& each : {side, side.Opposite()}) {
    const InprocTransport* transport = each.own().transport;
    if (transport != nullptr && transport->receiver_ != nullptr) {
      transport->receiver_->OnConnected(each.own().peer, kThisProcess);
    }
  }
  Pump(side);
  Pump(side.Opposite());
}

void InprocTransport::Accept(const Side& side) {
  side.own().transport = this;
  side.own().peer = next_peer_++;
  sides_.emplace(side.own().peer, side);
}

SendId InprocTransport::Send(PeerId peer, Header header, std::span<const BytesView> pieces,
                             Priority priority, Done done) {
  Outgoing message{next_send_++, header, {pieces.begin(), pieces.end()}, priority, std::move(done)};
  const SendId id = message.id;
  const auto it = sides_.find(peer);
  if (it == sides_.end()) {
    RunLater(std::move(message.done), Status::Unavailable("the peer is gone"));
  } else if (Status status = SetLength(message); !status.ok()) {
    RunLater(std::move(message.done), std::move(status));
  } else {
    it->second.own().queue.Push(std::move(message));
    Pump(it->second);
  }
  return id;
}

void InprocTransport::Pump(const Side& side) {
  End& own = side.own();
  if (!side.link->up || own.transport == nullptr || own.pumping || own.queue.empty()) return;
  own.pumping = true;
  own.transport->loop_.Post([side] { DeliverNext(side); });
}

void InprocTransport::DeliverNext(const Side& side) {
  End& own = side.own();
  own.pumping = false;
  if (own.transport == nullptr || side.other().transport == nullptr) return;  // Lose is posted.
  own.current = own.queue.Pop();
  if (!own.current) return;  // All were cancelled.
  Deliver(side);
  if (!own.current) return;  // The sender closed meanwhile, which ran its Done.
  const Done done = std::move(own.current->done);
  own.current.reset();
  Pump(side);
  done(side.other().transport != nullptr ? Status::Ok()
                                         : Status::Unavailable("the peer closed the connection"));
}

void InprocTransport::Deliver(const Side& side) {
  End& to = side.other();
  const Header header = side.own().current->header;
  side.own().traffic.sent += kHeaderSize + header.length;
  to.traffic.received += kHeaderSize + header.length;
  Receiver* receiver = to.transport->receiver_;
  std::span<std::byte> room;
  if (header.length > 0 && receiver != nullptr) {
    room = receiver->OnPayload(to.peer, header);
    MOTLEY_ASSERT(room.empty() || room.size() >= header.length);
    if (to.transport == nullptr || !side.own().current) return;
  }
  const bool discarded = header.length > 0 && room.empty();
  if (!discarded) {
    for (BytesView piece : side.own().current->pieces) {
      if (piece.empty()) continue;
      std::memcpy(room.data(), piece.data(), piece.size());
      room = room.subspan(piece.size());
    }
  }
  receiver = to.transport->receiver_;
  if (receiver != nullptr) receiver->OnPayloadDone(to.peer, header, discarded);
}

void InprocTransport::Cancel(SendId id) {
  for (const auto& [peer, side] : sides_) {
    if (auto message = side.own().queue.Remove(id)) {
      message->done(Status::Cancelled("taken back before it was sent"));
      return;
    }
  }
}

size_t InprocTransport::QueuedBytes(PeerId peer) const {
  const auto it = sides_.find(peer);
  if (it == sides_.end()) return 0;
  const End& own = it->second.own();
  return own.queue.bytes() + (own.current ? own.current->header.length : 0);
}

void InprocTransport::Detach(const Side& side, const Status& why) {
  End& own = side.own();
  InprocTransport& transport = *own.transport;
  transport.sides_.erase(own.peer);
  own.transport = nullptr;
  std::vector<Outgoing> pending = own.queue.TakeAll();
  if (own.current) pending.insert(pending.begin(), std::move(*own.current));
  own.current.reset();
  for (Outgoing& message : pending) {
    transport.settled_.Add([done = std::move(message.done), why] { done(why); });
  }
  transport.settled_.Run();
}

void InprocTransport::Lose(const Side& side, const Status& why) {
  InprocTransport* transport = side.own().transport;
  if (transport == nullptr) return;
  const PeerId peer = side.own().peer;
  Detach(side, why);
  if (!transport->closed_ && transport->receiver_ != nullptr) {
    transport->receiver_->OnLost(peer, why);
  }
}

void InprocTransport::Disconnect(PeerId peer) {
  const auto it = sides_.find(peer);
  if (it == sides_.end()) return;
  const Side side = it->second;
  if (side.other().transport != nullptr) {
    loop_.Post([other = side.Opposite()] {
      Lose(other, Status::Unavailable("the peer closed the connection"));
    });
  }
  Detach(side, Status::Unavailable("this node closed the connection"));
}

void InprocTransport::Close() {
  if (closed_) return;
  closed_ = true;
  receiver_ = nullptr;
  StopListening();
  while (!sides_.empty()) Disconnect(sides_.begin()->first);
  settled_.Run();
  deferred_.Run();
}

void InprocTransport::RunLater(Done done, Status status) {
  if (closed_) return done(std::move(status));
  if (deferred_.empty()) {
    loop_.Post([this, alive = std::weak_ptr<bool>(alive_)] {
      if (!alive.expired()) deferred_.Run();
    });
  }
  deferred_.Add([done = std::move(done), status = std::move(status)] { done(status); });
}

}  // namespace

struct InprocNetwork::Impl {
  Loop& loop;
  std::shared_ptr<Listeners> listeners;
};

InprocNetwork::InprocNetwork(Loop& loop) : impl_(new Impl{loop, std::make_shared<Listeners>()}) {}
InprocNetwork::~InprocNetwork() = default;

std::unique_ptr<Transport> InprocNetwork::MakeTransport() {
  return std::make_unique<InprocTransport>(impl_->loop, impl_->listeners);
}

}  // namespace motley
