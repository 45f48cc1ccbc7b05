// SPDX-License-Identifier: Apache-2.0
// A transport that sends nothing until the test lets it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "transport/transport.h"

namespace motley {

// Keeps every message until the test releases it.
class HeldTransport : public Transport {
 public:
  struct Message {
    PeerId peer = 0;
    Header header;
    Bytes bytes;
    Done done;
  };

  void SetReceiver(Receiver* new_receiver) override { receiver = new_receiver; }
  Result<std::string> Listen(const std::string& address) override { return address; }
  void StopListening() override {}
  PeerId Connect(const std::string&) override { return ++connections; }
  SendId Send(PeerId peer, Header header, std::span<const BytesView> pieces, Priority,
              Done done) override {
    Message message{peer, header, {}, std::move(done)};
    for (const BytesView piece : pieces) {
      message.bytes.insert(message.bytes.end(), piece.begin(), piece.end());
    }
    sent.push_back(message.header);
    held.emplace(next_id, std::move(message));
    return next_id++;
  }
  void Cancel(SendId id) override {
    cancelled.push_back(id);
    if (under_way.contains(id)) return;
    if (auto node = held.extract(id)) node.mapped().done(Status::Cancelled("taken back"));
  }
  size_t QueuedBytes(PeerId) const override { return 0; }
  Traffic TrafficOf(PeerId) const override { return traffic; }
  void Disconnect(PeerId) override {
    while (!held.empty()) held.extract(held.begin()).mapped().done(Status::Unavailable("gone"));
  }
  void Close() override { Disconnect(0); }

  Message LetGo() {
    Message message = std::move(held.extract(held.begin()).mapped());
    message.done(Status::Ok());
    return message;
  }

  // Releases the oldest message of this kind.
  Message LetGo(FrameKind kind) {
    auto it = held.begin();
    while (it->second.header.kind != kind) ++it;
    Message message = std::move(held.extract(it).mapped());
    message.done(Status::Ok());
    return message;
  }

  Receiver* receiver = nullptr;
  PeerId connections = 0;
  Traffic traffic;  // The traffic of every peer, as the test sets it.
  std::map<SendId, Message> held;
  std::vector<Header> sent;
  std::vector<SendId> cancelled;  // Cancelled sends, even if they were not held.
  std::set<SendId> under_way;     // Sends that cannot be taken back any more.
  SendId next_id = 1;
};

}  // namespace motley
