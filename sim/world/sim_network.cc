// SPDX-License-Identifier: Apache-2.0
#include "sim/world/sim_network.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/world/sim_connection.h"

namespace motley {

SimLink::SimLink(const SimLinkOptions& link, Random draws, uint64_t number)
    : index(number), options(link), random(draws) {
  const double in = link.port_bytes_per_second;
  port.in.bytes_per_second = link.HasPort() ? in : link.Way(1).bytes_per_second;
  port.out.bytes_per_second =
      link.HasPort() ? link.port_out_bytes_per_second.value_or(in) : link.Way(0).bytes_per_second;
}

SimNetwork::SimNetwork(uint64_t seed) : seed_(seed) {}

SimNetwork::~SimNetwork() = default;

std::unique_ptr<SimTransport> SimNetwork::MakeTransport(NodeLoop& loop,
                                                        const SimLinkOptions& link) {
  const uint64_t index = next_link_++;
  auto shared = std::make_shared<SimLink>(
      link, Random(seed_, Stream::kSimulation, /*a=*/1, /*b=*/index), index);
  return std::make_unique<SimTransport>(*this, loop, std::move(shared));
}

SimTransport::SimTransport(SimNetwork& network, NodeLoop& loop, std::shared_ptr<SimLink> link)
    : network_(network), loop_(loop), link_(std::move(link)) {}

SimTransport::~SimTransport() { Close(); }

Result<std::string> SimTransport::Listen(const std::string& address) {
  std::string bound = address;
  if (bound.ends_with(":0")) {
    bound = fmt::format("{}{}", bound.substr(0, bound.size() - 1), network_.next_port_++);
  }
  if (!network_.listeners_.emplace(bound, this).second) {
    return Status::Unavailable(fmt::format("cannot listen at {}: in use", bound));
  }
  return bound;
}

SimTransport::Peer* SimTransport::Find(PeerId peer) {
  if (peer == 0 || peer > peers_.size() || peers_[peer - 1].connection == nullptr) return nullptr;
  return &peers_[peer - 1];
}

PeerId SimTransport::AddPeer(SimConnection* connection, int side) {
  const PeerId id = next_peer_++;
  connection->SetEnd(side, this, id);
  peers_.resize(id);
  peers_.back() = {connection, side};
  return id;
}

PeerId SimTransport::Connect(const std::string& address) {
  if (closed_) return next_peer_++;
  const auto listener = network_.listeners_.find(address);
  if (listener == network_.listeners_.end()) {
    const PeerId id = next_peer_++;
    refused_[id] = loop_.After(2 * link_->options.latency, [this, id, address] {
      refused_.erase(id);
      if (receiver_ == nullptr) return;
      receiver_->OnLost(id, Status::Unavailable(fmt::format("nobody listens at {}", address)));
    });
    return id;
  }
  network_.connections_.push_back(std::make_unique<SimConnection>(link_, listener->second->link_));
  SimConnection* connection = network_.connections_.back().get();
  const PeerId id = AddPeer(connection, 0);
  listener->second->AddPeer(connection, 1);
  connection->Open();
  return id;
}

SendId SimTransport::Send(PeerId peer, Header header, std::span<const BytesView> pieces,
                          Priority priority, Done done) {
  const SendId id = next_send_++;
  size_t length = 0;
  for (const BytesView piece : pieces) length += piece.size();
  ++open_sends_;
  const Peer* found = Find(peer);
  if (length > MaxPayload(header.kind)) {
    Finish(std::move(done), Status::InvalidArgument(fmt::format(
                                "a payload of {} bytes is above the limit of {} for its kind",
                                length, MaxPayload(header.kind))));
  } else if (found == nullptr) {
    Finish(std::move(done), Status::Unavailable(fmt::format("no connection {}", peer)));
  } else {
    header.length = static_cast<uint32_t>(length);
    found->connection->Send(found->side, id, header, pieces, priority, std::move(done));
    max_queued_bytes_ = std::max(max_queued_bytes_, found->connection->queued_bytes(found->side));
  }
  if (closed_) RunFinished();
  return id;
}

void SimTransport::Cancel(SendId id) {
  for (const Peer& at : peers_) {
    if (at.connection != nullptr && at.connection->Cancel(at.side, id)) return;
  }
}

size_t SimTransport::QueuedBytes(PeerId peer) const {
  const Peer* found = Find(peer);
  return found == nullptr ? 0 : found->connection->queued_bytes(found->side);
}

Traffic SimTransport::TrafficOf(PeerId peer) const {
  const Peer* found = Find(peer);
  return found == nullptr ? Traffic() : found->connection->traffic(found->side);
}

void SimTransport::Disconnect(PeerId peer) {
  if (const auto refused = refused_.find(peer); refused != refused_.end()) {
    loop_.Cancel(refused->second);
    refused_.erase(refused);
  }
  if (Find(peer) == nullptr) return;
  const Peer gone = TakePeer(peer);
  gone.connection->CloseEnd(gone.side, /*died=*/false, /*lose_in_flight=*/false);
}

void SimTransport::Finish(Done done, Status status) {
  finished_.push_back({std::move(done), std::move(status)});
  if (finish_timer_ == 0) {
    finish_timer_ = loop_.After(Duration::zero(), [this] {
      finish_timer_ = 0;
      RunFinished();
    });
  }
}

void SimTransport::RunFinished() {
  loop_.Cancel(finish_timer_);
  finish_timer_ = 0;
  while (!finished_.empty()) {
    std::vector<Finished> batch;
    batch.swap(finished_);
    for (Finished& each : batch) {
      --open_sends_;
      if (each.done) each.done(std::move(each.status));
    }
  }
}

void SimTransport::StopListening() {
  std::erase_if(network_.listeners_, [this](const auto& entry) { return entry.second == this; });
}

void SimTransport::Close() {
  closed_ = true;
  receiver_ = nullptr;
  StopListening();
  for (const auto& [peer, timer] : refused_) loop_.Cancel(timer);
  refused_.clear();
  for (PeerId peer = 1; peer <= peers_.size(); ++peer) Disconnect(peer);
  RunFinished();
}

void SimTransport::Clog(Time until) {
  link_->clogged_until = std::max(link_->clogged_until, until);
}

void SimTransport::Cut(bool tell_listener) {
  for (const Peer& peer : peers_) {
    if (peer.connection != nullptr && peer.side == 0) peer.connection->Break(tell_listener);
  }
}

void SimTransport::SetRate(double bytes_per_second) {
  SimLinkOptions& link = link_->options;
  if (!link.back) link.back = SimLinkWay{link.latency, link.bytes_per_second};
  link.bytes_per_second = bytes_per_second;
  if (!link.HasPort()) link_->port.out.bytes_per_second = bytes_per_second;
}

void SimTransport::Die(bool lose_in_flight) {
  closed_ = true;
  receiver_ = nullptr;
  StopListening();
  loop_.Cancel(finish_timer_);
  finish_timer_ = 0;
  finished_.clear();
  refused_.clear();
  for (PeerId peer = 1; peer <= peers_.size(); ++peer) {
    if (Find(peer) == nullptr) continue;
    const Peer gone = TakePeer(peer);
    gone.connection->CloseEnd(gone.side, /*died=*/true, lose_in_flight);
  }
  open_sends_ = 0;
}

}  // namespace motley
