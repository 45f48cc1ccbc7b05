// SPDX-License-Identifier: Apache-2.0
// The contract of every Transport. To test a new one:
//   1. derive a TransportWorld that makes transports which can reach each other;
//   2. add motley_transport_suite to the DEPS of the test program;
//   3. INSTANTIATE_TEST_SUITE_P(Mine, TransportSuite, testing::Values(TransportCase{
//          "Mine", [] { return std::make_unique<MyWorld>(); }}), TransportCaseName);
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "transport/transport.h"

namespace motley {

// The environment of some transports. It outlives those it made.
class TransportWorld {
 public:
  virtual ~TransportWorld() = default;
  virtual std::unique_ptr<Transport> MakeTransport() = 0;
  // An address for Listen, such as "127.0.0.1:0". Every result can be listened at.
  virtual std::string ListenAddress() = 0;
  // A well-formed address without a listener.
  virtual std::string DeadAddress() = 0;
  // Lets time pass until `done` holds, which is checked repeatedly. Returns false if it never will.
  // With real time this needs a generous limit that only failing tests reach.
  virtual bool RunUntil(const std::function<bool()>& done) = 0;
};

struct TransportCase {
  std::string name;
  std::function<std::unique_ptr<TransportWorld>()> make_world;
};

inline std::string TransportCaseName(const testing::TestParamInfo<TransportCase>& info) {
  return info.param.name;
}
inline void PrintTo(const TransportCase& c, std::ostream* out) { *out << c.name; }

// A message that arrived.
struct Arrived {
  PeerId peer = 0;
  Header header;
  bool discarded = false;
  Bytes payload;
};

// A node that records all events. Events that the contract forbids fail the test.
class TestNode final : public Receiver {
 public:
  explicit TestNode(TransportWorld& world) : transport_(world.MakeTransport()) {
    transport_->SetReceiver(this);
  }
  ~TestNode() override { Destroy(); }

  void Destroy() {
    transport_.reset();
    for (const auto& [id, count] : done_count_) EXPECT_EQ(count, 1) << "Done of send " << id;
  }

  void OnConnected(PeerId peer, const PeerIdentity& identity) override {
    ExpectQuiet();
    EXPECT_NE(identity.address, "");
    hosts.push_back(identity.host);
    connected.push_back(peer);
    if (on_connected) on_connected(peer);
  }
  std::span<std::byte> OnPayload(PeerId peer, const Header& header) override {
    ExpectQuiet();
    EXPECT_TRUE(Has(connected, peer)) << "payload before connection";
    EXPECT_FALSE(Has(lost_peers, peer)) << "payload after loss";
    EXPECT_GT(header.length, 0u);
    EXPECT_FALSE(open_payload_.contains(peer)) << "two payloads at once";
    Bytes& room = open_payload_[peer];
    if (on_payload) on_payload(peer, header);
    if (discard) return {};
    room.resize(header.length);
    return room;
  }
  void OnPayloadDone(PeerId peer, const Header& header, bool discarded) override {
    ExpectQuiet();
    EXPECT_FALSE(Has(lost_peers, peer)) << "message after loss";
    Arrived message{peer, header, discarded, {}};
    if (const auto it = open_payload_.find(peer); it != open_payload_.end()) {
      message.payload = std::move(it->second);
      open_payload_.erase(it);
    }
    arrived.push_back(std::move(message));
    if (on_done) on_done(arrived.back());
  }
  void OnLost(PeerId peer, const Status& why) override {
    ExpectQuiet();
    EXPECT_FALSE(Has(lost_peers, peer)) << "lost twice";
    EXPECT_FALSE(why.ok());
    lost_peers.push_back(peer);
    lost_status.push_back(why);
    if (on_lost) on_lost(peer);
  }

  // Sends a copy of `payload`, kept until Done. `row` identifies the message.
  SendId Send(PeerId peer, Bytes payload, Priority priority = Priority::kBulk, uint32_t row = 0) {
    const FrameKind kind =
        priority == Priority::kControl ? FrameKind::kControl : FrameKind::kGradient;
    return SendPieces(peer, {std::move(payload)}, {.kind = kind, .row_id = row}, priority);
  }
  SendId SendPieces(PeerId peer, std::vector<Bytes> parts, Header header, Priority priority) {
    auto owned = std::make_shared<std::vector<Bytes>>(std::move(parts));
    const std::vector<BytesView> views(owned->begin(), owned->end());
    auto id = std::make_shared<SendId>(0);
    in_send_ = true;
    *id = transport_->Send(peer, header, views, priority, [this, owned, id](Status status) {
      EXPECT_FALSE(in_send_) << "Done inside Send";
      ++done_count_[*id];
      done_order.push_back(*id);
      // Pieces may be reused from now on.
      for (Bytes& part : *owned) std::fill(part.begin(), part.end(), std::byte{0xdd});
      const bool first = done.emplace(*id, std::move(status)).second;
      EXPECT_TRUE(first) << "Done twice";
      if (on_send_done) on_send_done(*id);
    });
    in_send_ = false;
    EXPECT_NE(*id, 0u);
    done_count_.emplace(*id, 0);
    return *id;
  }

  bool Done(SendId id) const { return done.contains(id); }
  Transport& transport() { return *transport_; }
  // From here on, any callback fails the test.
  void ExpectSilence() { silent_ = true; }

  std::vector<PeerId> connected, lost_peers;
  std::vector<std::string> hosts;  // Those of `connected`.
  std::vector<Status> lost_status;
  std::deque<Arrived> arrived;
  std::map<SendId, Status> done;
  std::vector<SendId> done_order;
  bool discard = false;
  std::function<void(PeerId)> on_connected, on_lost;
  std::function<void(PeerId, const Header&)> on_payload;
  std::function<void(const Arrived&)> on_done;
  std::function<void(SendId)> on_send_done;

 private:
  static bool Has(const std::vector<PeerId>& peers, PeerId peer) {
    return std::find(peers.begin(), peers.end(), peer) != peers.end();
  }
  void ExpectQuiet() const {
    EXPECT_FALSE(silent_) << "callback after Close";
    EXPECT_FALSE(in_send_) << "callback inside Send";
  }

  std::map<PeerId, Bytes> open_payload_;
  std::map<SendId, int> done_count_;
  bool in_send_ = false;
  bool silent_ = false;
  std::unique_ptr<Transport> transport_;
};

// Bytes that depend on their place and on `salt`.
inline Bytes Pattern(size_t size, uint32_t salt) {
  Bytes bytes(size);
  uint32_t state = salt * 2654435761u + 1;
  for (std::byte& b : bytes) {
    state = state * 1664525u + 1013904223u;
    b = static_cast<std::byte>(state >> 24);
  }
  return bytes;
}

class TransportSuite : public testing::TestWithParam<TransportCase> {
 protected:
  TransportSuite() : world_(GetParam().make_world()) {}

  std::unique_ptr<TestNode> MakeNode() { return std::make_unique<TestNode>(*world_); }
  // A node that listens at `address_`.
  std::unique_ptr<TestNode> MakeServer() {
    auto node = MakeNode();
    const auto address = node->transport().Listen(world_->ListenAddress());
    EXPECT_TRUE(address.ok()) << address.status().ToString();
    address_ = address.ok() ? *address : std::string();
    return node;
  }
  void Run(const std::function<bool()>& done) {
    ASSERT_TRUE(world_->RunUntil(done)) << "the condition never held";
  }
  // Makes a server, a client and a connection between them: `to_server_` and `to_client_`.
  void Connect() {
    server_ = MakeServer();
    client_ = MakeNode();
    to_server_ = client_->transport().Connect(address_);
    Run([&] { return !server_->connected.empty() && !client_->connected.empty(); });
    ASSERT_EQ(client_->connected.at(0), to_server_);
    to_client_ = server_->connected.at(0);
  }
  // Waits until everything sent to the server before this call has arrived.
  void Flush() {
    const uint32_t row = next_marker_++;
    client_->Send(to_server_, {}, Priority::kBulk, row);
    Run([&] { return !server_->arrived.empty() && server_->arrived.back().header.row_id == row; });
  }

  std::unique_ptr<TransportWorld> world_;
  std::string address_;
  std::unique_ptr<TestNode> server_, client_;
  PeerId to_server_ = 0, to_client_ = 0;
  uint32_t next_marker_ = 1u << 30;
};

}  // namespace motley
