// SPDX-License-Identifier: Apache-2.0
// Connecting, exchanging messages, order, cancelling and back-pressure.
#include "tests/conformance/transport_suite.h"

#include <algorithm>
#include <numeric>

namespace motley {
namespace {

TEST_P(TransportSuite, BothEndsHearOfAConnectionOnce) {
  Connect();
  Flush();
  EXPECT_EQ(server_->connected.size(), 1u);
  EXPECT_EQ(client_->connected.size(), 1u);
  EXPECT_TRUE(server_->lost_peers.empty());
}

TEST_P(TransportSuite, PeersOfOneMachineComeFromOneHost) {
  Connect();
  const auto another = MakeNode();
  another->transport().Connect(address_);
  Run([&] { return server_->connected.size() == 2 && another->connected.size() == 1; });
  EXPECT_NE(server_->hosts[0], "");
  EXPECT_EQ(server_->hosts[0], server_->hosts[1]);
  EXPECT_EQ(client_->hosts, another->hosts);
}

TEST_P(TransportSuite, ConnectingWithoutAListenerIsALossNotAnError) {
  const auto node = MakeNode();
  const PeerId peer = node->transport().Connect(world_->DeadAddress());
  EXPECT_TRUE(node->lost_peers.empty()) << "OnLost inside Connect";
  Run([&] { return !node->lost_peers.empty(); });
  EXPECT_EQ(node->lost_peers.at(0), peer);
  EXPECT_EQ(node->lost_status.at(0).code(), StatusCode::kUnavailable);
  EXPECT_NE(node->lost_status.at(0).ToString().find(world_->DeadAddress()), std::string::npos)
      << node->lost_status.at(0).ToString();
  EXPECT_TRUE(node->connected.empty());
}

TEST_P(TransportSuite, ListeningTwiceAtOneAddressNamesIt) {
  const auto first = MakeServer();
  const auto second = MakeNode();
  const auto again = second->transport().Listen(address_);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.code(), StatusCode::kUnavailable);
  EXPECT_NE(again.status().message().find(address_), std::string::npos)
      << again.status().ToString();
}

TEST_P(TransportSuite, PayloadsOfAllSizesArriveUnchangedBothWays) {
  Connect();
  const std::vector<size_t> sizes = {0,     1,     95,    96,       97,
                                     65535, 65536, 65537, 1u << 20, kMaxBulkBytes};
  for (size_t i = 0; i < sizes.size(); ++i) {
    client_->Send(to_server_, Pattern(sizes[i], 1), Priority::kBulk, static_cast<uint32_t>(i));
    server_->Send(to_client_, Pattern(sizes[i], 2), Priority::kBulk, static_cast<uint32_t>(i));
  }
  Run([&] {
    return server_->arrived.size() == sizes.size() && client_->arrived.size() == sizes.size();
  });
  for (size_t i = 0; i < sizes.size(); ++i) {
    EXPECT_EQ(server_->arrived[i].header.row_id, i);
    EXPECT_EQ(server_->arrived[i].header.length, sizes[i]);
    EXPECT_TRUE(server_->arrived[i].payload == Pattern(sizes[i], 1)) << sizes[i];
    EXPECT_TRUE(client_->arrived[i].payload == Pattern(sizes[i], 2)) << sizes[i];
    EXPECT_FALSE(server_->arrived[i].discarded);
  }
}

TEST_P(TransportSuite, HeadersArriveWhole) {
  Connect();
  const Header sent = {.kind = FrameKind::kParameters,
                       .job = 3,
                       .incarnation = 1ull << 60,
                       .step = 17,
                       .version = 16,
                       .row_id = 5,
                       .shard = 2,
                       .offset = 1ull << 40,
                       .total = 1ull << 41,
                       .norm = 2.5,
                       .length = 12345};  // Set by Send.
  client_->SendPieces(to_server_, {Pattern(10, 1)}, sent, Priority::kBulk);
  Run([&] { return !server_->arrived.empty(); });
  const Header& got = server_->arrived[0].header;
  EXPECT_EQ(got.kind, sent.kind);
  EXPECT_EQ(got.job, sent.job);
  EXPECT_EQ(got.incarnation, sent.incarnation);
  EXPECT_EQ(got.step, sent.step);
  EXPECT_EQ(got.version, sent.version);
  EXPECT_EQ(got.row_id, sent.row_id);
  EXPECT_EQ(got.shard, sent.shard);
  EXPECT_EQ(got.offset, sent.offset);
  EXPECT_EQ(got.total, sent.total);
  EXPECT_EQ(got.norm, sent.norm);
  EXPECT_EQ(got.length, 10u);
}

TEST_P(TransportSuite, PiecesArriveAsOneMessage) {
  Connect();
  std::vector<Bytes> pieces;
  Bytes whole;
  for (uint32_t i = 0; i < 2000; ++i) {  // More than one system call takes.
    pieces.push_back(Pattern(i % 7, i));
    whole.insert(whole.end(), pieces.back().begin(), pieces.back().end());
  }
  client_->SendPieces(to_server_, pieces, {.kind = FrameKind::kPartition}, Priority::kBulk);
  Run([&] { return !server_->arrived.empty(); });
  EXPECT_TRUE(server_->arrived[0].payload == whole);
}

TEST_P(TransportSuite, PayloadsAboveTheCapAreRefusedAndTheConnectionLives) {
  Connect();
  const SendId bulk = client_->Send(to_server_, Bytes(kMaxBulkBytes + 1));
  const SendId control = client_->Send(to_server_, Bytes(kMaxControlBytes + 1), Priority::kControl);
  Run([&] { return client_->Done(bulk) && client_->Done(control); });
  EXPECT_EQ(client_->done[bulk].code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(client_->done[control].code(), StatusCode::kInvalidArgument);
  Flush();
  EXPECT_EQ(server_->arrived.size(), 1u);
}

TEST_P(TransportSuite, ManyMessagesKeepTheirOrderPerPriority) {
  Connect();
  constexpr uint32_t kCount = 2000;
  for (uint32_t i = 0; i < kCount; ++i) {
    const Priority priority = i % 3 == 0 ? Priority::kControl : Priority::kBulk;
    client_->Send(to_server_, Pattern(i % 300, i), priority, i);
  }
  Run([&] { return server_->arrived.size() == kCount && client_->done.size() == kCount; });
  std::map<FrameKind, uint32_t> last;
  for (const Arrived& message : server_->arrived) {
    const uint32_t row = message.header.row_id;
    if (last.contains(message.header.kind)) {
      EXPECT_LT(last[message.header.kind], row);
    }
    last[message.header.kind] = row;
    EXPECT_TRUE(message.payload == Pattern(row % 300, row));
  }
  for (const auto& [id, status] : client_->done) EXPECT_TRUE(status.ok()) << status.ToString();
}

TEST_P(TransportSuite, ControlOvertakesQueuedBulk) {
  Connect();
  constexpr uint32_t kBulkCount = 8;
  const Bytes bulk = Pattern(4u << 20, 1);
  for (uint32_t i = 0; i < kBulkCount; ++i) client_->Send(to_server_, bulk, Priority::kBulk, i);
  client_->Send(to_server_, Pattern(8, 2), Priority::kControl, 100);
  Run([&] { return server_->arrived.size() == kBulkCount + 1; });
  const auto control = std::find_if(server_->arrived.begin(), server_->arrived.end(),
                                    [](const Arrived& a) { return a.header.row_id == 100; });
  EXPECT_LT(control - server_->arrived.begin(), 4) << "it waited behind bulk";
  for (const Arrived& message : server_->arrived) {
    if (message.header.row_id != 100) {
      EXPECT_TRUE(message.payload == bulk);
    }
  }
}

TEST_P(TransportSuite, CancelledMessagesAreNeverDelivered) {
  Connect();
  std::vector<SendId> ids;
  for (uint32_t i = 0; i < 8; ++i) {
    ids.push_back(client_->Send(to_server_, Pattern(4u << 20, i), Priority::kBulk, i));
  }
  client_->transport().Cancel(ids[7]);
  client_->transport().Cancel(ids[5]);
  client_->transport().Cancel(ids[5]);  // Has no effect.
  Run([&] { return client_->done.size() == 8; });
  EXPECT_EQ(client_->done[ids[7]].code(), StatusCode::kCancelled);
  EXPECT_EQ(client_->done[ids[5]].code(), StatusCode::kCancelled);
  EXPECT_TRUE(client_->done[ids[6]].ok());
  Flush();
  std::vector<uint32_t> rows;
  for (const Arrived& message : server_->arrived) rows.push_back(message.header.row_id);
  rows.pop_back();  // The marker.
  EXPECT_EQ(rows, (std::vector<uint32_t>{0, 1, 2, 3, 4, 6}));
}

TEST_P(TransportSuite, CancelAfterDoneHasNoEffect) {
  Connect();
  const SendId id = client_->Send(to_server_, Pattern(100, 1));
  Run([&] { return client_->Done(id); });
  client_->transport().Cancel(id);
  client_->transport().Cancel(id + 1000);  // An id that never existed.
  Flush();
  EXPECT_TRUE(client_->done[id].ok());
  EXPECT_EQ(server_->arrived.size(), 2u);
}

TEST_P(TransportSuite, QueuedBytesCountsWhatIsNotDone) {
  Connect();
  EXPECT_EQ(client_->transport().QueuedBytes(to_server_), 0u);
  const SendId first = client_->Send(to_server_, Pattern(8u << 20, 1));
  const SendId second = client_->Send(to_server_, Pattern(8u << 20, 1));
  const SendId third = client_->Send(to_server_, Pattern(5, 1));
  EXPECT_EQ(client_->transport().QueuedBytes(to_server_), (16u << 20) + 5);
  client_->transport().Cancel(third);
  EXPECT_EQ(client_->transport().QueuedBytes(to_server_), 16u << 20);
  size_t between = 1;
  client_->on_send_done = [&](SendId id) {
    if (id == first) between = client_->transport().QueuedBytes(to_server_);
  };
  Run([&] { return client_->Done(second); });
  EXPECT_EQ(between, 8u << 20);
  EXPECT_EQ(client_->transport().QueuedBytes(to_server_), 0u);
  EXPECT_EQ(client_->transport().QueuedBytes(to_server_ + 1000), 0u);
}

TEST_P(TransportSuite, DiscardedPayloadsLeaveTheRestIntact) {
  Connect();
  server_->discard = true;
  client_->Send(to_server_, Pattern(3u << 20, 1), Priority::kBulk, 1);
  client_->Send(to_server_, Pattern(100, 1), Priority::kBulk, 2);
  Run([&] { return server_->arrived.size() == 2; });
  EXPECT_TRUE(server_->arrived[0].discarded);
  EXPECT_TRUE(server_->arrived[1].discarded);
  server_->discard = false;
  client_->Send(to_server_, Pattern(100, 3), Priority::kBulk, 3);
  Run([&] { return server_->arrived.size() == 3; });
  EXPECT_FALSE(server_->arrived[2].discarded);
  EXPECT_TRUE(server_->arrived[2].payload == Pattern(100, 3));
}

TEST_P(TransportSuite, EmptyMessagesAreNotDiscarded) {
  Connect();
  server_->discard = true;
  client_->Send(to_server_, {}, Priority::kBulk, 1);
  Run([&] { return !server_->arrived.empty(); });
  EXPECT_FALSE(server_->arrived[0].discarded);
}

TEST_P(TransportSuite, MessagesMayBeSentBeforeTheConnectionIsUp) {
  server_ = MakeServer();
  client_ = MakeNode();
  const PeerId peer = client_->transport().Connect(address_);
  client_->Send(peer, Pattern(10, 1), Priority::kBulk, 1);
  Run([&] { return server_->arrived.size() == 1; });
  EXPECT_TRUE(server_->arrived[0].payload == Pattern(10, 1));
}

TEST_P(TransportSuite, SeveralPeersAreKeptApart) {
  server_ = MakeServer();
  const auto a = MakeNode();
  const auto b = MakeNode();
  const PeerId from_a = a->transport().Connect(address_);
  const PeerId from_b = b->transport().Connect(address_);
  const PeerId again = b->transport().Connect(address_);
  EXPECT_NE(from_b, again);
  a->Send(from_a, Pattern(2u << 20, 1), Priority::kBulk, 1);
  b->Send(from_b, Pattern(2u << 20, 2), Priority::kBulk, 2);
  b->Send(again, Pattern(2u << 20, 3), Priority::kBulk, 3);
  Run([&] { return server_->arrived.size() == 3; });
  std::map<PeerId, uint32_t> row_of;
  for (const Arrived& message : server_->arrived) {
    row_of[message.peer] = message.header.row_id;
    EXPECT_TRUE(message.payload == Pattern(2u << 20, message.header.row_id));
    server_->Send(message.peer, Pattern(10, message.header.row_id), Priority::kBulk,
                  message.header.row_id);
  }
  EXPECT_EQ(row_of.size(), 3u);
  Run([&] { return a->arrived.size() == 1 && b->arrived.size() == 2; });
  EXPECT_EQ(a->arrived[0].header.row_id, 1u);
  for (const Arrived& message : b->arrived) {
    EXPECT_EQ(message.header.row_id, message.peer == from_b ? 2u : 3u);
  }
}

TEST_P(TransportSuite, AnswersMayBeSentFromInsideCallbacks) {
  Connect();
  server_->on_done = [&](const Arrived& message) {
    server_->Send(message.peer, message.payload, Priority::kBulk, message.header.row_id + 1);
  };
  client_->on_done = [&](const Arrived& message) {
    if (message.header.row_id < 100) {
      client_->Send(message.peer, message.payload, Priority::kBulk, message.header.row_id + 1);
    }
  };
  client_->Send(to_server_, Pattern(1000, 1), Priority::kBulk, 1);
  Run([&] { return !client_->arrived.empty() && client_->arrived.back().header.row_id >= 100; });
  EXPECT_TRUE(client_->arrived.back().payload == Pattern(1000, 1));
}

TEST_P(TransportSuite, TheNextMessageMayBeSentFromInsideDone) {
  Connect();
  uint32_t sent = 1;
  client_->on_send_done = [&](SendId) {
    if (sent == 100) return;
    client_->Send(to_server_, Pattern(1000, sent), Priority::kBulk, sent);
    ++sent;
  };
  client_->Send(to_server_, Pattern(1000, 0), Priority::kBulk, 0);
  Run([&] { return server_->arrived.size() == 100; });
  for (uint32_t i = 0; i < 100; ++i) EXPECT_EQ(server_->arrived[i].header.row_id, i);
}

TEST_P(TransportSuite, DoneRunsInTheOrderSentWithinAPriority) {
  Connect();
  std::vector<SendId> ids;
  for (uint32_t i = 0; i < 50; ++i) ids.push_back(client_->Send(to_server_, Pattern(1000, i)));
  Run([&] { return client_->done.size() == 50; });
  EXPECT_EQ(client_->done_order, ids);
}

}  // namespace
}  // namespace motley
