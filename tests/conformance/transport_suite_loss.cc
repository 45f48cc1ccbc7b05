// SPDX-License-Identifier: Apache-2.0
// Disconnecting, losing peers, and closing, also from inside callbacks.
#include "tests/conformance/transport_suite.h"

namespace motley {
namespace {

constexpr size_t kBig = 4u << 20;

TEST_P(TransportSuite, DisconnectByTheClientIsALossAtTheServerOnly) {
  Connect();
  client_->transport().Disconnect(to_server_);
  Run([&] { return !server_->lost_peers.empty(); });
  EXPECT_EQ(server_->lost_peers.at(0), to_client_);
  EXPECT_EQ(server_->lost_status.at(0).code(), StatusCode::kUnavailable);
  EXPECT_TRUE(client_->lost_peers.empty());
  client_->transport().Disconnect(to_server_);  // Has no effect.
}

TEST_P(TransportSuite, DisconnectByTheServerIsALossAtTheClientOnly) {
  Connect();
  server_->transport().Disconnect(to_client_);
  Run([&] { return !client_->lost_peers.empty(); });
  EXPECT_EQ(client_->lost_peers.at(0), to_server_);
  EXPECT_EQ(client_->lost_status.at(0).code(), StatusCode::kUnavailable);
  EXPECT_TRUE(server_->lost_peers.empty());
}

TEST_P(TransportSuite, StopListeningKeepsConnectionsAndAcceptsNoMore) {
  Connect();
  server_->transport().StopListening();
  Flush();
  const auto late = MakeNode();
  late->transport().Connect(address_);
  Run([&] { return !late->lost_peers.empty(); });
  EXPECT_EQ(server_->connected.size(), 1u);
  EXPECT_TRUE(server_->lost_peers.empty());
  Flush();
}

TEST_P(TransportSuite, TrafficCountsWhatPassedEitherWay) {
  Connect();
  Flush();
  const Traffic before = server_->transport().TrafficOf(to_client_);
  EXPECT_GE(before.received, kHeaderSize);
  const uint64_t sent = client_->transport().TrafficOf(to_server_).sent;
  client_->Send(to_server_, Pattern(1000, 1));
  Run([&] { return server_->arrived.size() == 2 && client_->done.size() == 2; });
  EXPECT_GT(server_->transport().TrafficOf(to_client_).received, before.received);
  EXPECT_EQ(server_->transport().TrafficOf(to_client_).sent, before.sent);
  EXPECT_GT(client_->transport().TrafficOf(to_server_).sent, sent);
  client_->transport().Disconnect(to_server_);
  EXPECT_EQ(client_->transport().TrafficOf(to_server_).sent, 0u);
}

TEST_P(TransportSuite, MessagesDoneBeforeADisconnectStillArrive) {
  Connect();
  for (uint32_t i = 0; i < 100; ++i) {
    client_->Send(to_server_, Pattern(1000, i), Priority::kControl, i);
  }
  Run([&] { return client_->done.size() == 100; });
  client_->transport().Disconnect(to_server_);
  Run([&] { return !server_->lost_peers.empty(); });
  ASSERT_EQ(server_->arrived.size(), 100u);
  EXPECT_TRUE(server_->arrived[99].payload == Pattern(1000, 99));
}

TEST_P(TransportSuite, DisconnectCallsWhatIsPendingAndNoMore) {
  Connect();
  for (uint32_t i = 0; i < 8; ++i) client_->Send(to_server_, Pattern(kBig, i));
  client_->transport().Disconnect(to_server_);
  Run([&] { return client_->done.size() == 8 && !server_->lost_peers.empty(); });
  for (const auto& [id, status] : client_->done) {
    EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  }
  EXPECT_EQ(client_->transport().QueuedBytes(to_server_), 0u);
  EXPECT_TRUE(client_->lost_peers.empty());
  EXPECT_EQ(server_->lost_peers.size(), 1u);
}

TEST_P(TransportSuite, AllDoneOfALostPeerHaveRunWhenOnLostDoes) {
  Connect();
  for (uint32_t i = 0; i < 8; ++i) server_->Send(to_client_, Pattern(kBig, i));
  size_t done_at_loss = 0;
  server_->on_lost = [&](PeerId) { done_at_loss = server_->done.size(); };
  client_->on_payload = [&](PeerId peer, const Header&) { client_->transport().Disconnect(peer); };
  Run([&] { return !server_->lost_peers.empty(); });
  EXPECT_EQ(done_at_loss, 8u);
  EXPECT_EQ(server_->lost_peers.size(), 1u);
  EXPECT_EQ(server_->transport().QueuedBytes(to_client_), 0u);
}

TEST_P(TransportSuite, ADoneOfALostPeerMaySendToItAgain) {
  Connect();
  for (uint32_t i = 0; i < 8; ++i) server_->Send(to_client_, Pattern(kBig, i));
  int more = 3;
  server_->on_send_done = [&](SendId id) {
    if (!server_->done[id].ok() && more-- > 0) server_->Send(to_client_, Pattern(10, 1));
  };
  client_->on_payload = [&](PeerId peer, const Header&) { client_->transport().Disconnect(peer); };
  Run([&] { return !server_->lost_peers.empty() && server_->done.size() == 11; });
  EXPECT_EQ(server_->transport().QueuedBytes(to_client_), 0u);
}

TEST_P(TransportSuite, SendingToALostOrUnknownPeerIsUnavailable) {
  Connect();
  client_->transport().Disconnect(to_server_);
  const SendId gone = client_->Send(to_server_, Pattern(10, 1));
  const SendId unknown = client_->Send(to_server_ + 1000, Pattern(10, 1));
  Run([&] { return client_->Done(gone) && client_->Done(unknown); });
  EXPECT_EQ(client_->done[gone].code(), StatusCode::kUnavailable);
  EXPECT_EQ(client_->done[unknown].code(), StatusCode::kUnavailable);
}

TEST_P(TransportSuite, DisconnectWhileConnectingIsSilent) {
  server_ = MakeServer();
  client_ = MakeNode();
  const PeerId peer = client_->transport().Connect(address_);
  const SendId id = client_->Send(peer, Pattern(10, 1));
  client_->transport().Disconnect(peer);
  to_server_ = client_->transport().Connect(address_);
  Run([&] { return client_->Done(id) && !client_->connected.empty(); });
  EXPECT_EQ(client_->connected, std::vector<PeerId>{to_server_});
  EXPECT_EQ(client_->done[id].code(), StatusCode::kUnavailable);
  EXPECT_TRUE(client_->lost_peers.empty());
}

TEST_P(TransportSuite, CloseRunsEveryDoneBeforeItReturns) {
  Connect();
  for (uint32_t i = 0; i < 8; ++i) client_->Send(to_server_, Pattern(kBig, i));
  client_->Send(to_server_ + 1000, Pattern(10, 1));
  client_->transport().Close();
  EXPECT_EQ(client_->done.size(), 9u);
  client_->ExpectSilence();
  Run([&] { return !server_->lost_peers.empty(); });
  EXPECT_EQ(client_->transport().QueuedBytes(to_server_), 0u);
}

TEST_P(TransportSuite, NothingIsCalledAfterClose) {
  Connect();
  for (uint32_t i = 0; i < 8; ++i) client_->Send(to_server_, Pattern(1000, i));
  client_->transport().Connect(address_);
  client_->transport().Connect(world_->DeadAddress());
  server_->transport().Close();
  server_->ExpectSilence();
  Run([&] { return client_->lost_peers.size() == 3; });
}

TEST_P(TransportSuite, SendAfterCloseIsDoneAtOnce) {
  Connect();
  client_->transport().Close();
  client_->transport().Close();  // Has no effect.
  int calls = 0;
  client_->transport().Send(to_server_, {}, {}, Priority::kBulk, [&](Status status) {
    ++calls;
    EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  });
  EXPECT_EQ(calls, 1);
}

TEST_P(TransportSuite, DestructionIsClose) {
  Connect();
  for (uint32_t i = 0; i < 8; ++i) client_->Send(to_server_, Pattern(kBig, i));
  client_->Destroy();
  EXPECT_EQ(client_->done.size(), 8u);
  Run([&] { return !server_->lost_peers.empty(); });
  EXPECT_EQ(server_->lost_peers.size(), 1u);
}

TEST_P(TransportSuite, ClosedListenersRefuse) {
  server_ = MakeServer();
  server_->transport().Close();
  client_ = MakeNode();
  client_->transport().Connect(address_);
  Run([&] { return !client_->lost_peers.empty(); });
  EXPECT_TRUE(client_->connected.empty());
}

TEST_P(TransportSuite, AddressesAreFreeAgainAfterClose) {
  server_ = MakeServer();
  server_->transport().Close();
  client_ = MakeNode();
  const auto again = client_->transport().Listen(address_);
  EXPECT_TRUE(again.ok()) << again.status().ToString();
}

TEST_P(TransportSuite, DisconnectInsideOnPayloadEndsThePeer) {
  Connect();
  server_->on_payload = [&](PeerId peer, const Header&) { server_->transport().Disconnect(peer); };
  client_->Send(to_server_, Pattern(100, 1));
  client_->Send(to_server_, Pattern(kBig, 1));
  Run([&] { return !client_->lost_peers.empty() && client_->done.size() == 2; });
  EXPECT_TRUE(server_->arrived.empty());
  EXPECT_TRUE(server_->lost_peers.empty());
}

TEST_P(TransportSuite, DisconnectInsideOnPayloadDoneEndsThePeer) {
  Connect();
  server_->on_done = [&](const Arrived& message) { server_->transport().Disconnect(message.peer); };
  for (uint32_t i = 0; i < 10; ++i) client_->Send(to_server_, Pattern(100, i));
  Run([&] { return !client_->lost_peers.empty(); });
  EXPECT_EQ(server_->arrived.size(), 1u);
}

TEST_P(TransportSuite, DisconnectInsideOnConnectedEndsThePeer) {
  server_ = MakeServer();
  client_ = MakeNode();
  server_->on_connected = [&](PeerId peer) { server_->transport().Disconnect(peer); };
  client_->transport().Connect(address_);
  Run([&] { return !client_->lost_peers.empty(); });
  EXPECT_EQ(server_->connected.size(), 1u);
  EXPECT_TRUE(server_->lost_peers.empty());
}

TEST_P(TransportSuite, CloseInsideCallbacksIsSafe) {
  Connect();
  server_->on_done = [&](const Arrived&) {
    server_->transport().Close();
    server_->ExpectSilence();
  };
  client_->on_send_done = [&](SendId) {
    client_->transport().Close();
    client_->ExpectSilence();
  };
  for (uint32_t i = 0; i < 10; ++i) client_->Send(to_server_, Pattern(100, i));
  Run([&] { return client_->done.size() == 10; });
  EXPECT_LE(server_->arrived.size(), 1u);
}

TEST_P(TransportSuite, CloseInsideOnPayloadIsSafe) {
  Connect();
  server_->on_payload = [&](PeerId, const Header&) {
    server_->transport().Close();
    server_->ExpectSilence();
  };
  client_->Send(to_server_, Pattern(kBig, 1));
  Run([&] { return !client_->lost_peers.empty(); });
  EXPECT_TRUE(server_->arrived.empty());
}

TEST_P(TransportSuite, CloseInsideOnLostIsSafe) {
  Connect();
  server_->Send(to_client_, Pattern(kBig, 1));
  server_->Send(to_client_, Pattern(kBig, 2));
  server_->on_lost = [&](PeerId) {
    server_->transport().Close();
    server_->ExpectSilence();
  };
  client_->transport().Disconnect(to_server_);
  Run([&] { return !server_->lost_peers.empty(); });
  EXPECT_EQ(server_->done.size(), 2u);
}

TEST_P(TransportSuite, ConnectInsideOnLostComesBack) {
  Connect();
  client_->on_lost = [&](PeerId) { client_->transport().Connect(address_); };
  server_->transport().Disconnect(to_client_);
  Run([&] { return client_->connected.size() == 2 && server_->connected.size() == 2; });
  EXPECT_NE(client_->connected[1], to_server_);
  client_->Send(client_->connected[1], Pattern(10, 1));
  Run([&] { return !server_->arrived.empty(); });
  EXPECT_EQ(server_->arrived[0].peer, server_->connected[1]);
}

TEST_P(TransportSuite, LosingOnePeerLeavesTheOthersAlone) {
  Connect();
  const auto other = MakeNode();
  const PeerId from_other = other->transport().Connect(address_);
  Run([&] { return server_->connected.size() == 2; });
  client_->Send(to_server_, Pattern(kBig, 1));
  client_->transport().Close();
  other->Send(from_other, Pattern(kBig, 2));
  const auto from_the_other = [&] {  // Messages of the lost peer may have left as a whole.
    return !server_->arrived.empty() && server_->arrived.back().peer != to_client_;
  };
  Run([&] { return !server_->lost_peers.empty() && from_the_other(); });
  EXPECT_EQ(server_->lost_peers, std::vector<PeerId>{to_client_});
  EXPECT_TRUE(server_->arrived.back().payload == Pattern(kBig, 2));
}

TEST_P(TransportSuite, WithoutAReceiverEverythingIsReadAndDropped) {
  Connect();
  server_->transport().SetReceiver(nullptr);
  const SendId id = client_->Send(to_server_, Pattern(kBig, 1));
  Run([&] { return client_->Done(id); });
  EXPECT_TRUE(client_->done[id].ok());
  EXPECT_TRUE(server_->arrived.empty());
}

}  // namespace
}  // namespace motley
