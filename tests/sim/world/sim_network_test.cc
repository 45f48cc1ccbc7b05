// SPDX-License-Identifier: Apache-2.0
#include "sim/world/sim_network.h"

#include "tests/conformance/transport_suite.h"

namespace motley {
namespace {

using std::chrono::milliseconds;

// Each transport has its own loop. All have the link of the test case.
class SimWorld final : public TransportWorld {
 public:
  explicit SimWorld(SimLinkOptions link) : link_(link) {}

  std::unique_ptr<Transport> MakeTransport() override {
    loops_.push_back(std::make_unique<NodeLoop>(world_));
    return network_.MakeTransport(*loops_.back(), link_);
  }
  std::string ListenAddress() override { return "sim:0"; }
  std::string DeadAddress() override { return "nowhere:9"; }
  bool RunUntil(const std::function<bool()>& done) override { return world_.RunUntil(done); }

 private:
  const SimLinkOptions link_;
  VirtualLoop world_;
  std::vector<std::unique_ptr<NodeLoop>> loops_;
  SimNetwork network_{1};
};

TransportCase Case(const char* name, SimLinkOptions link) {
  return {name, [link] { return std::make_unique<SimWorld>(link); }};
}

INSTANTIATE_TEST_SUITE_P(Sim, TransportSuite,
                         testing::Values(Case("Ideal", {}),
                                         Case("Real", {.latency = milliseconds(1),
                                                       .bytes_per_second = 1e8,
                                                       .jitter = milliseconds(2)}),
                                         Case("Shared", {.latency = milliseconds(1),
                                                         .bytes_per_second = 1e8,
                                                         .port_bytes_per_second = 3e7})),
                         TransportCaseName);

class SimNetworkTest : public testing::Test, public TransportWorld {
 protected:
  std::unique_ptr<Transport> MakeTransport() override {
    SimLinkOptions link = link_;
    if (!next_is_client_ && !mesh_) link.port_out_bytes_per_second = link.port_bytes_per_second;
    auto transport = network_.MakeTransport(next_is_client_ ? client_loop_ : server_loop_, link);
    (next_is_client_ ? client_transport_ : server_transport_) = transport.get();
    next_is_client_ = true;
    return transport;
  }
  std::string ListenAddress() override { return "server:1"; }
  std::string DeadAddress() override { return "nowhere:9"; }
  bool RunUntil(const std::function<bool()>& done) override { return world_.RunUntil(done); }

  void Connect() {
    server_ = std::make_unique<TestNode>(*this);
    ASSERT_TRUE(server_transport_->Listen("server:1").ok());
    client_ = std::make_unique<TestNode>(*this);
    to_server_ = client_->transport().Connect("server:1");
    ASSERT_TRUE(RunUntil([&] { return !client_->connected.empty(); }));
    to_client_ = server_->connected.at(0);
    start_ = world_.Now();
  }
  // Runs the tasks that are due up to this many milliseconds after Connect.
  void RunTo(int ms) { world_.RunUntilTime(start_ + milliseconds(ms)); }

  VirtualLoop world_;
  NodeLoop server_loop_{world_}, client_loop_{world_};
  SimNetwork network_{7};
  SimLinkOptions link_{.latency = milliseconds(10)};
  SimTransport* server_transport_ = nullptr;
  SimTransport* client_transport_ = nullptr;
  bool next_is_client_ = false;
  bool mesh_ = false;  // The server has a link like the client's, and no port.
  std::unique_ptr<TestNode> server_, client_;
  PeerId to_server_ = 0, to_client_ = 0;
  Time start_{};
};

TEST_F(SimNetworkTest, AMessageTakesLatencyPlusItsSizeOverBandwidth) {
  link_.bytes_per_second = 1000 * (1000 + kHeaderSize);  // 1000 bytes and a header take 1 ms.
  Connect();
  EXPECT_EQ(ToSeconds(start_), 0.02) << "a handshake is a round trip";
  Time begun{};
  server_->on_payload = [&](PeerId, const Header&) { begun = world_.Now(); };
  client_->Send(to_server_, Pattern(1000, 1));
  ASSERT_TRUE(RunUntil([&] { return server_->arrived.size() == 1; }));
  EXPECT_EQ(begun, start_ + milliseconds(10)) << "the header comes first";
  EXPECT_EQ(world_.Now(), start_ + milliseconds(11));
}

TEST_F(SimNetworkTest, VectorsPassTheServersPortOneAfterTheOther) {
  link_.port_bytes_per_second = 1000 * (1000 + kHeaderSize);  // 1000 bytes and a header take 1 ms.
  Connect();
  TestNode other(*this);
  const PeerId from_other = other.transport().Connect("server:1");
  ASSERT_TRUE(RunUntil([&] { return !other.connected.empty(); }));
  start_ = world_.Now();
  client_->Send(to_server_, Pattern(3000 + 2 * kHeaderSize, 1));
  other.Send(from_other, Pattern(3000 + 2 * kHeaderSize, 2));
  RunTo(12);
  EXPECT_EQ(server_->arrived.size(), 0u);
  RunTo(14);
  EXPECT_EQ(server_->arrived.size(), 1u);
  RunTo(17);
  EXPECT_EQ(server_->arrived.size(), 2u);
}

TEST_F(SimNetworkTest, DirectionsMayDiffer) {
  link_.bytes_per_second = 1000 * (1000 + kHeaderSize);
  link_.back = SimLinkWay{milliseconds(5), 4 * link_.bytes_per_second};
  Connect();
  EXPECT_EQ(ToSeconds(start_), 0.015) << "10 ms there and 5 ms back";
  client_->Send(to_server_, Pattern(4000, 1));
  server_->Send(to_client_, Pattern(4000 + 3 * kHeaderSize, 2));
  RunTo(6);
  EXPECT_EQ(client_->arrived.size(), 1u);
  RunTo(13);
  EXPECT_EQ(server_->arrived.size(), 0u);
  RunTo(14);
  EXPECT_EQ(server_->arrived.size(), 1u);
}

// As workers are connected with each other: 1000 bytes and a header take 1 ms on each link.
class SimMesh : public SimNetworkTest {
 protected:
  SimMesh() {
    mesh_ = true;
    link_.bytes_per_second = 1000 * (1000 + kHeaderSize);
  }
  // A turn on a shared link takes nanoseconds.
  void RunTo(int ms) {
    world_.RunUntilTime(start_ + milliseconds(ms) + std::chrono::microseconds(1));
  }
  // Connects a second node to the first one.
  std::unique_ptr<TestNode> Another(PeerId& to_server) {
    auto other = std::make_unique<TestNode>(*this);
    to_server = other->transport().Connect("server:1");
    EXPECT_TRUE(RunUntil([&] { return !other->connected.empty(); }));
    start_ = world_.Now();
    return other;
  }
};

TEST_F(SimMesh, VectorsOfAllSendersShareTheReceiversLink) {
  Connect();
  PeerId from_other = 0;
  const auto other = Another(from_other);
  for (uint32_t i = 0; i < 3; ++i) {
    client_->Send(to_server_, Pattern(1000, i));
    other->Send(from_other, Pattern(1000, i));
  }
  RunTo(13);
  EXPECT_EQ(server_->arrived.size(), 3u);
  RunTo(16);
  EXPECT_EQ(server_->arrived.size(), 6u);
}

TEST_F(SimMesh, VectorsToAllReceiversShareTheSendersLink) {
  Connect();
  PeerId from_other = 0;
  const auto other = Another(from_other);
  const PeerId to_other = server_->connected.at(1);
  for (uint32_t i = 0; i < 3; ++i) {
    server_->Send(to_client_, Pattern(1000, i));
    server_->Send(to_other, Pattern(1000, i));
  }
  // They take turns.
  RunTo(14);
  EXPECT_EQ(client_->arrived.size(), 2u);
  EXPECT_EQ(other->arrived.size(), 2u);
  RunTo(16);
  EXPECT_EQ(client_->arrived.size() + other->arrived.size(), 6u);
}

TEST_F(SimMesh, EachLinkHasItsDirections) {
  link_.back = SimLinkWay{milliseconds(5), 4 * link_.bytes_per_second};
  Connect();
  EXPECT_EQ(ToSeconds(start_), 0.02) << "10 ms each way: the longer latency of both links";
  client_->Send(to_server_, Pattern(4000 + 3 * kHeaderSize, 1));
  server_->Send(to_client_, Pattern(4000 + 3 * kHeaderSize, 2));
  RunTo(13);
  EXPECT_EQ(server_->arrived.size(), 0u);
  EXPECT_EQ(client_->arrived.size(), 0u);
  RunTo(14);
  EXPECT_EQ(server_->arrived.size(), 1u);
  EXPECT_EQ(client_->arrived.size(), 1u) << "both are sent with the rate of the way up";
}

TEST_F(SimMesh, MessagesPassBesideVectors) {
  Connect();
  PeerId from_other = 0;
  const auto other = Another(from_other);
  for (uint32_t i = 0; i < 9; ++i) client_->Send(to_server_, Pattern(1000, i));
  other->Send(from_other, Pattern(100, 1), Priority::kControl, 7);
  RunTo(11);
  EXPECT_EQ(server_->arrived.size(), 2u);
}

TEST_F(SimMesh, AProcessReachesItselfWithoutALink) {
  Connect();
  const PeerId to_itself = server_->transport().Connect("server:1");
  ASSERT_TRUE(RunUntil([&] { return server_->connected.size() == 3; })) << "both ends are here";
  EXPECT_EQ(world_.Now(), start_);
  server_transport_->Clog(start_ + milliseconds(500));
  server_->Send(to_itself, Pattern(1000, 1));
  RunTo(0);
  EXPECT_EQ(server_->arrived.size(), 1u);
}

TEST_F(SimMesh, ACloggedLinkStopsWhatOthersSendOverIt) {
  Connect();
  server_transport_->Clog(start_ + milliseconds(500));
  client_->Send(to_server_, Pattern(100, 1));
  RunTo(499);
  EXPECT_TRUE(server_->arrived.empty());
  RunTo(511);
  EXPECT_EQ(server_->arrived.size(), 1u);
}

TEST_F(SimNetworkTest, OneDirectionCarriesOneMessageAfterTheOther) {
  link_.bytes_per_second = 1000 * (1000 + kHeaderSize);
  Connect();
  for (uint32_t i = 0; i < 5; ++i) client_->Send(to_server_, Pattern(1000, i));
  server_->Send(to_client_, Pattern(1000, 9));
  RunTo(11);
  EXPECT_EQ(server_->arrived.size(), 1u);
  EXPECT_EQ(client_->arrived.size(), 1u) << "the other direction has its own bandwidth";
  RunTo(14);
  EXPECT_EQ(server_->arrived.size(), 4u);
  RunTo(15);
  EXPECT_EQ(server_->arrived.size(), 5u);
}

TEST_F(SimNetworkTest, JitterNeverReorders) {
  link_.jitter = milliseconds(20);
  Connect();
  for (int i = 0; i < 50; ++i) {
    RunTo(i);
    client_->Send(to_server_, Pattern(100, i), Priority::kBulk, static_cast<uint32_t>(i));
  }
  ASSERT_TRUE(RunUntil([&] { return server_->arrived.size() == 50; }));
  for (uint32_t i = 0; i < 50; ++i) EXPECT_EQ(server_->arrived[i].header.row_id, i);
  EXPECT_GT(world_.Now(), start_ + milliseconds(60)) << "no jitter was drawn";
}

TEST_F(SimNetworkTest, AStoppedReceiverMakesTheSenderWaitOnceTheBufferIsFull) {
  Connect();
  server_loop_.Freeze();
  for (uint32_t i = 0; i < 8; ++i) client_->Send(to_server_, Pattern(1u << 20, i));
  RunTo(1000);
  EXPECT_TRUE(server_->arrived.empty());
  const size_t queued = client_transport_->QueuedBytes(to_server_);
  EXPECT_EQ(queued, 4u << 20) << "4 MiB are in the socket buffer";
  EXPECT_EQ(client_->done.size(), 4u);
  server_loop_.Thaw();
  ASSERT_TRUE(RunUntil([&] { return server_->arrived.size() == 8; }));
  EXPECT_EQ(client_transport_->QueuedBytes(to_server_), 0u);
}

TEST_F(SimNetworkTest, ACloggedLinkDelaysAndLosesNothing) {
  Connect();
  client_->Send(to_server_, Pattern(100, 1));
  RunTo(5);
  client_transport_->Clog(start_ + milliseconds(500));
  client_->Send(to_server_, Pattern(100, 2));
  server_->Send(to_client_, Pattern(100, 3));
  RunTo(499);
  EXPECT_TRUE(server_->arrived.empty()) << "messages under way must wait too";
  EXPECT_TRUE(client_->arrived.empty()) << "both directions must wait";
  RunTo(510);
  EXPECT_EQ(server_->arrived.size(), 2u);
  EXPECT_EQ(client_->arrived.size(), 1u);
}

TEST_F(SimNetworkTest, ADeadProcessIsLostAfterWhatItHadSent) {
  Connect();
  client_->Send(to_server_, Pattern(100, 1));
  RunTo(1);
  client_->ExpectSilence();
  client_transport_->Die(/*lose_in_flight=*/false);
  client_loop_.Kill();
  ASSERT_TRUE(RunUntil([&] { return !server_->lost_peers.empty(); }));
  EXPECT_EQ(world_.Now(), start_ + milliseconds(11));
  EXPECT_EQ(server_->arrived.size(), 1u);
}

TEST_F(SimNetworkTest, ADeadMachineTakesAlongWhatWasUnderWay) {
  Connect();
  client_->Send(to_server_, Pattern(100, 1));
  RunTo(1);
  client_transport_->Die(/*lose_in_flight=*/true);
  client_loop_.Kill();
  ASSERT_TRUE(RunUntil([&] { return !server_->lost_peers.empty(); }));
  EXPECT_TRUE(server_->arrived.empty());
}

TEST_F(SimNetworkTest, SendingToADeadProcessIsUnavailableOnceTheLossIsKnown) {
  Connect();
  server_transport_->Die(/*lose_in_flight=*/true);
  server_loop_.Kill();
  const SendId before = client_->Send(to_server_, Pattern(100, 1));
  ASSERT_TRUE(RunUntil([&] { return !client_->lost_peers.empty(); }));
  EXPECT_TRUE(client_->done.at(before).ok()) << "the client did not know of the loss yet";
  const SendId after = client_->Send(to_server_, Pattern(100, 1));
  ASSERT_TRUE(RunUntil([&] { return client_->Done(after); }));
  EXPECT_EQ(client_->done.at(after).code(), StatusCode::kUnavailable);
}

TEST_F(SimNetworkTest, ConnectionsToAStoppedProcessWaitForIt) {
  server_ = std::make_unique<TestNode>(*this);
  ASSERT_TRUE(server_transport_->Listen("server:1").ok());
  client_ = std::make_unique<TestNode>(*this);
  server_loop_.Freeze();
  client_->transport().Connect("server:1");
  world_.RunUntilTime(Time(milliseconds(1000)));
  EXPECT_TRUE(client_->connected.empty());
  server_loop_.Thaw();
  EXPECT_TRUE(RunUntil([&] { return !client_->connected.empty(); }));
}

}  // namespace
}  // namespace motley
