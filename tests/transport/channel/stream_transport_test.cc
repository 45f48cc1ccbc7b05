// SPDX-License-Identifier: Apache-2.0
#include "transport/channel/stream_transport.h"

#include <gmock/gmock.h>
#include <netinet/tcp.h>
#include <sys/resource.h>

#include <array>
#include <vector>

#include "tests/transport/channel/socket_world.h"
#include "transport/wire/checksum.h"
#include "transport/wire/frame_reader.h"

namespace motley {
namespace {

using testing::HasSubstr;

INSTANTIATE_TEST_SUITE_P(Tcp, TransportSuite,
                         testing::Values(TransportCase{
                             "Tcp", [] { return std::make_unique<SocketWorld>(); }}),
                         TransportCaseName);
INSTANTIATE_TEST_SUITE_P(Nearby, TransportSuite,
                         testing::Values(TransportCase{
                             "Nearby",
                             [] { return std::make_unique<SocketWorld>("127.0.0.1:0"); }}),
                         TransportCaseName);
INSTANTIATE_TEST_SUITE_P(Unix, TransportSuite,
                         testing::Values(TransportCase{
                             "Unix", [] { return std::make_unique<SocketWorld>("unix://"); }}),
                         TransportCaseName);

Bytes Frame(BytesView payload, uint32_t row) {
  Checksum checksum;
  checksum.Add(payload);
  const auto header = EncodeHeader({.kind = FrameKind::kGradient,
                                    .row_id = row,
                                    .length = static_cast<uint32_t>(payload.size())},
                                   checksum.Value());
  Bytes frame(kHeaderSize + payload.size());
  std::copy(header.begin(), header.end(), frame.begin());
  std::copy(payload.begin(), payload.end(), frame.begin() + kHeaderSize);
  return frame;
}

struct CountingReceiver final : Receiver {
  void OnConnected(PeerId, const PeerIdentity&) override { ++connected; }
  std::span<std::byte> OnPayload(PeerId, const Header&) override { return {}; }
  void OnPayloadDone(PeerId, const Header& header, bool) override { rows.push_back(header.row_id); }
  void OnLost(PeerId, const Status&) override {}
  size_t connected = 0;
  std::vector<uint32_t> rows;
};

// A listening transport and a bare socket connected to it.
class StreamTransportTest : public testing::Test {
 protected:
  StreamTransportTest() {
    const auto address = server_.transport().Listen("tcp://127.0.0.1:0");
    EXPECT_TRUE(address.ok()) << address.status().ToString();
    address_ = *address;
    client_.Connect(address_);
    client_name_ = client_.address();
    Run([&] { return server_.connected.size() == 1; });
  }
  void Run(const std::function<bool()>& done) {
    ASSERT_TRUE(world_.RunUntil(done)) << "the condition never held";
  }
  // Expects the server to drop the connection with `code`, and to name the peer.
  void ExpectDropped(StatusCode code) {
    Run([&] { return !server_.lost_peers.empty(); });
    EXPECT_EQ(server_.lost_status.at(0).code(), code) << server_.lost_status[0].ToString();
    EXPECT_THAT(server_.lost_status[0].ToString(), HasSubstr(client_name_));
    EXPECT_TRUE(server_.arrived.empty());
  }

  SocketWorld world_;
  TestNode server_{world_};
  RawSocket client_;
  std::string address_, client_name_;
};

TEST_F(StreamTransportTest, GarbageEndsTheConnection) {
  client_.Write(Pattern(200, 1));
  ExpectDropped(StatusCode::kDataError);
}

TEST_F(StreamTransportTest, OtherProtocolsEndTheConnection) {
  // As long as a header: the reader waits for a whole one.
  const std::string request = "GET / HTTP/1.1\r\nHost: localhost\r\nUser-Agent: somebody/1.0 (" +
                              std::string(kHeaderSize, 'x') + ")\r\n\r\n";
  client_.Write(AsBytes(request));
  ExpectDropped(StatusCode::kDataError);
}

TEST_F(StreamTransportTest, TruncatedHeaderIsALoss) {
  const Bytes frame = Frame({}, 1);
  client_.Write(BytesView(frame).first(kHeaderSize - 1));
  client_.Close();
  ExpectDropped(StatusCode::kUnavailable);
  EXPECT_THAT(server_.lost_status[0].ToString(), HasSubstr("inside a message"));
}

TEST_F(StreamTransportTest, TruncatedPayloadIsALoss) {
  const Bytes frame = Frame(Pattern(100000, 1), 1);
  client_.Write(BytesView(frame).first(frame.size() - 1));
  client_.Close();
  ExpectDropped(StatusCode::kUnavailable);
}

TEST_F(StreamTransportTest, OversizeLengthsAskForNoMemory) {
  server_.on_payload = [](PeerId, const Header&) { FAIL() << "the reader asked for room"; };
  client_.Write(EncodeHeader({.kind = FrameKind::kPartition, .length = 0xfffffff0}, 0));
  ExpectDropped(StatusCode::kDataError);
}

TEST_F(StreamTransportTest, AnotherProtocolVersionIsAConflict) {
  Bytes frame = Frame({}, 1);
  frame[4] = std::byte{kProtocolVersion + 1};
  client_.Write(frame);
  ExpectDropped(StatusCode::kConflict);
}

// A peer of another release learns both versions from the first header it receives.
TEST_F(StreamTransportTest, AnotherProtocolVersionIsReportedToItsSender) {
  Bytes frame = Frame({}, 1);
  frame[4] = std::byte{kProtocolVersion + 1};
  client_.Write(frame);
  std::array<std::byte, kHeaderSize> room{};
  size_t count = 0;
  Run([&] {
    count += client_.Read(std::span(room).subspan(count));
    return count == kHeaderSize;
  });
  const auto header = DecodeHeader(room);
  EXPECT_TRUE(header.ok()) << header.status().ToString();
}

TEST_F(StreamTransportTest, ConnectionsWaitUntilThereIsAReceiver) {
  const auto early = world_.MakeTransport();
  const auto address = early->Listen("127.0.0.1:0");
  ASSERT_TRUE(address.ok()) << address.status().ToString();
  std::vector<std::unique_ptr<RawSocket>> waiting;
  for (uint32_t row = 1; row <= 3; ++row) {
    waiting.push_back(std::make_unique<RawSocket>());
    waiting.back()->Connect(*address);
    waiting.back()->Write(Frame(Pattern(10, row), row));
    for (int i = 0; i < 10; ++i) world_.Turn();
  }
  CountingReceiver receiver;
  early->SetReceiver(&receiver);
  Run([&] { return receiver.rows.size() == 3; });
  EXPECT_EQ(receiver.connected, 3u);
  early->SetReceiver(nullptr);
}

TEST_F(StreamTransportTest, FlippedBitInAPayloadEndsTheConnection) {
  Bytes frame = Frame(Pattern(100000, 1), 1);
  frame[kHeaderSize + 50000] ^= std::byte{4};
  client_.Write(frame);
  ExpectDropped(StatusCode::kDataError);
}

TEST_F(StreamTransportTest, BadBytesEndOneConnectionOnly) {
  RawSocket other;
  other.Connect(address_);
  client_.Write(Pattern(200, 1));
  Run([&] { return !server_.lost_peers.empty(); });
  other.Write(Frame(Pattern(10, 1), 7));
  Run([&] { return !server_.arrived.empty(); });
  EXPECT_EQ(server_.arrived[0].header.row_id, 7u);
}

TEST_F(StreamTransportTest, MessagesMayComeByteByByte) {
  for (uint32_t row = 1; row <= 3; ++row) {
    const Bytes frame = Frame(Pattern(50, row), row);
    for (std::byte b : frame) {
      client_.Write({&b, 1});
      world_.Turn();
    }
  }
  Run([&] { return server_.arrived.size() == 3; });
  for (uint32_t row = 1; row <= 3; ++row) {
    EXPECT_EQ(server_.arrived[row - 1].header.row_id, row);
    EXPECT_TRUE(server_.arrived[row - 1].payload == Pattern(50, row));
  }
}

TEST_F(StreamTransportTest, ResetPeersAreLostOnce) {
  for (uint32_t i = 0; i < 20; ++i) server_.Send(server_.connected[0], Pattern(1u << 20, i));
  client_.Reset();
  ExpectDropped(StatusCode::kUnavailable);
  for (int i = 0; i < 100; ++i) world_.Turn();
  EXPECT_EQ(server_.lost_peers.size(), 1u);
  EXPECT_EQ(server_.done.size(), 20u);
}

TEST_F(StreamTransportTest, HalfClosedPeersAreLostOnce) {
  client_.ShutdownWrites();
  ExpectDropped(StatusCode::kUnavailable);
  for (int i = 0; i < 100; ++i) world_.Turn();
  EXPECT_EQ(server_.lost_peers.size(), 1u);
}

TEST_F(StreamTransportTest, LastMessagesOfAClosingPeerArrive) {
  for (uint32_t i = 0; i < 20; ++i) server_.Send(server_.connected[0], Pattern(1u << 20, i));
  world_.Turn();
  client_.Write(Frame(Pattern(10, 1), 5));
  client_.Close();  // With unread bytes, so the server's writes fail.
  Run([&] { return !server_.lost_peers.empty(); });
  ASSERT_EQ(server_.arrived.size(), 1u);
  EXPECT_EQ(server_.arrived[0].header.row_id, 5u);
  EXPECT_EQ(server_.done.size(), 20u);
}

// Counts the messages that come out of a bare socket.
class CountingSink final : public FrameReader::Sink {
 public:
  std::span<std::byte> OnPayload(const Header&) override { return {}; }
  void OnPayloadDone(const Header& header, bool) override { rows.push_back(header.row_id); }
  std::vector<uint32_t> rows;
};

TEST_F(StreamTransportTest, PeerThatDoesNotReadCostsItsQueueAndBlocksNoOther) {
  constexpr uint32_t kCount = 32;
  constexpr size_t kSize = 1u << 20;
  const PeerId slow = server_.connected[0];
  for (uint32_t i = 0; i < kCount; ++i) {
    server_.Send(slow, Pattern(kSize, i), Priority::kBulk, i);
    EXPECT_EQ(server_.transport().QueuedBytes(slow), (i + 1) * kSize);
  }
  // Another peer is served meanwhile.
  RawSocket other;
  other.Connect(address_);
  for (uint32_t i = 0; i < 200; ++i) other.Write(Frame(Pattern(10, i), i));
  Run([&] { return server_.arrived.size() == 200; });
  EXPECT_GT(server_.transport().QueuedBytes(slow), 0u);
  EXPECT_LT(server_.done.size(), kCount);
  // The slow peer reads again.
  CountingSink sink;
  FrameReader reader(sink);
  for (int turns = 0; turns < 1'000'000 && sink.rows.size() < kCount; ++turns) {
    const size_t count = client_.Read(reader.Room());
    ASSERT_TRUE(count == 0 || reader.Advance(count).ok());
    world_.Turn();
  }
  Run([&] { return server_.done.size() == kCount; });
  EXPECT_EQ(sink.rows.size(), kCount);
  EXPECT_EQ(server_.transport().QueuedBytes(slow), 0u);
  EXPECT_TRUE(std::is_sorted(sink.rows.begin(), sink.rows.end()));
}

// The kernel's buffers grow to megabytes, and nothing overtakes the bytes in them.
TEST_F(StreamTransportTest, ControlOvertakesBulkThatASlowPeerHasNoRoomFor) {
  RawSocket slow;
  slow.KeepLittle();
  slow.Connect(address_);
  Run([&] { return server_.connected.size() == 2; });
  const PeerId peer = server_.connected[1];
  constexpr uint32_t kCount = 32, kControl = 99;
  for (uint32_t i = 0; i < kCount; ++i) {
    server_.Send(peer, Pattern(1u << 20, i), Priority::kBulk, i);
  }
  for (int turns = 0; turns < 5000; ++turns) world_.Turn();  // The kernel takes what it wants.
  server_.Send(peer, Pattern(10, 0), Priority::kControl, kControl);
  CountingSink sink;
  FrameReader reader(sink);
  const auto overtaken = [&] { return !sink.rows.empty() && sink.rows.back() == kControl; };
  for (int turns = 0; turns < 10'000'000 && !overtaken(); ++turns) {
    const size_t count = slow.Read(reader.Room());
    ASSERT_TRUE(count == 0 || reader.Advance(count).ok());
    if (count == 0) world_.Turn();
  }
  ASSERT_TRUE(overtaken());
  EXPECT_LE(sink.rows.size(), 2u) << "the slice in transit, and the control message";
}

// Descriptors of this process's TCP connections, except those with the own end `but`.
std::vector<int> ConnectionsBut(const std::string& but) {
  std::vector<int> found;
  for (int fd = 0; fd < 4096; ++fd) {
    sockaddr_storage own{}, other{};
    socklen_t length = sizeof(own), other_length = sizeof(other);
    if (getpeername(fd, reinterpret_cast<sockaddr*>(&other), &other_length) != 0) continue;
    if (getsockname(fd, reinterpret_cast<sockaddr*>(&own), &length) != 0) continue;
    if (own.ss_family == AF_INET && FormatAddress(own) != but) found.push_back(fd);
  }
  return found;
}

int OptionOf(int fd, int level, int option) {
  int value = -1;
  socklen_t size = sizeof(value);
  EXPECT_EQ(getsockopt(fd, level, option, &value, &size), 0) << "option " << option;
  return value;
}

// Checks accepted connections and those made by Connect.
TEST_F(StreamTransportTest, SocketsHaveTheirOptions) {
  TestNode other(world_);
  other.transport().Connect(address_);
  Run([&] { return server_.connected.size() == 2 && other.connected.size() == 1; });
  const std::vector<int> all = ConnectionsBut(client_name_);
  ASSERT_EQ(all.size(), 3u) << "two accepted ones, and one made by Connect";
  for (const int fd : all) {
    EXPECT_NE(OptionOf(fd, IPPROTO_TCP, TCP_NODELAY), 0) << "small messages would wait for others";
    EXPECT_NE(OptionOf(fd, SOL_SOCKET, SO_KEEPALIVE), 0) << "silent machines would not be probed";
    EXPECT_EQ(OptionOf(fd, IPPROTO_TCP, TCP_KEEPIDLE), 30);
    EXPECT_EQ(OptionOf(fd, IPPROTO_TCP, TCP_KEEPINTVL), 10);
    EXPECT_EQ(OptionOf(fd, IPPROTO_TCP, TCP_KEEPCNT), 3);
    EXPECT_EQ(OptionOf(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 60'000);
    EXPECT_EQ(OptionOf(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT), 128 << 10)
        << "the kernel would take much more than it has sent";
  }
}

TEST_F(StreamTransportTest, SurplusConnectionsAreClosed) {
  // More than the workers of a job, so measuring and joining peers fit.
  constexpr size_t kLimit = 1280;
  rlimit files{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
  if (files.rlim_max < 3 * kLimit) GTEST_SKIP() << "needs " << 3 * kLimit << " open files";
  files.rlim_cur = std::max<rlim_t>(files.rlim_cur, 3 * kLimit);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
  std::vector<std::unique_ptr<RawSocket>> many;
  while (server_.connected.size() < kLimit) {
    many.push_back(std::make_unique<RawSocket>());
    many.back()->Connect(address_);
    Run([&] { return server_.connected.size() == many.size() + 1; });
  }
  RawSocket surplus;
  surplus.Connect(address_);
  client_.Close();  // Makes room again.
  Run([&] { return !server_.lost_peers.empty(); });
  RawSocket next;
  next.Connect(address_);
  Run([&] { return server_.connected.size() == kLimit + 1; });
  std::array<std::byte, 1> room;
  EXPECT_EQ(surplus.Read(room), 0u);
}

TEST_F(StreamTransportTest, PortInUseIsNamed) {
  TestNode second(world_);
  const auto again = second.transport().Listen(address_);
  ASSERT_EQ(again.code(), StatusCode::kUnavailable);
  EXPECT_THAT(again.status().ToString(), HasSubstr(address_));
  EXPECT_THAT(again.status().ToString(), HasSubstr("in use"));
}

TEST_F(StreamTransportTest, AddressesOfNoInterfaceAreNamed) {
  TestNode second(world_);
  const auto none = second.transport().Listen("192.0.2.1:0");  // TEST-NET-1
  ASSERT_EQ(none.code(), StatusCode::kUnavailable);
  EXPECT_THAT(none.status().ToString(), HasSubstr("192.0.2.1"));
}

TEST_F(StreamTransportTest, AddressesThatMakeNoSenseAreTheCallersMistake) {
  TestNode node(world_);
  EXPECT_EQ(node.transport().Listen("nonsense").code(), StatusCode::kInvalidArgument);
  node.transport().Connect("nonsense");
  node.transport().Connect(std::string(64, 'a') + ".example:1");  // DNS labels cannot be this long.
  Run([&] { return node.lost_peers.size() == 2; });
  EXPECT_EQ(node.lost_status[0].code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(node.lost_status[1].code(), StatusCode::kUnavailable);
}

TEST_F(StreamTransportTest, NamesAreLookedUp) {
  TestNode node(world_);
  const std::string port = address_.substr(address_.rfind(':'));
  // Only the resolver knows this spelling of 127.0.0.1.
  const PeerId looked_up = node.transport().Connect("127.1" + port);
  node.Send(looked_up, Pattern(10, 1), Priority::kBulk, 1);
  const PeerId local = node.transport().Connect("localhost" + port);
  node.Send(local, Pattern(10, 1), Priority::kBulk, 2);
  Run([&] { return server_.arrived.size() == 2; });
}

TEST_F(StreamTransportTest, NamesCanBeListenedAt) {
  for (const char* address : {"localhost:0", "127.1:0"}) {
    TestNode listener(world_);
    const auto used = listener.transport().Listen(address);
    ASSERT_TRUE(used.ok()) << used.status().ToString();
    EXPECT_THAT(*used, HasSubstr("127.0.0.1:"));
    RawSocket client;
    client.Connect(*used);
    Run([&] { return listener.connected.size() == 1; });
  }
}

TEST_F(StreamTransportTest, CloseDuringALookupIsSafe) {
  TestNode node(world_);
  const PeerId peer = node.transport().Connect("127.1" + address_.substr(address_.rfind(':')));
  const SendId id = node.Send(peer, Pattern(10, 1));
  node.transport().Close();
  EXPECT_TRUE(node.Done(id));
  node.ExpectSilence();
}

TEST_F(StreamTransportTest, Ipv6IsSpoken) {
  TestNode listener(world_);
  const auto address = listener.transport().Listen("tcp://[::1]:0");
  if (!address.ok()) GTEST_SKIP() << "no IPv6 here: " << address.status().ToString();
  EXPECT_THAT(*address, HasSubstr("[::1]:"));
  TestNode node(world_);
  node.Send(node.transport().Connect(*address), Pattern(100, 1));
  Run([&] { return listener.arrived.size() == 1; });
}

TEST_F(StreamTransportTest, CloseInsideTheDoneOfADisconnectRunsTheOthersFirst) {
  TestNode node(world_);
  const PeerId peer = node.transport().Connect(address_);
  for (uint32_t i = 0; i < 5; ++i) node.Send(peer, Pattern(4u << 20, i));
  size_t done_after_close = 0;
  node.on_send_done = [&](SendId) {
    if (node.done.size() > 1) return;
    node.transport().Close();
    done_after_close = node.done.size();
  };
  node.transport().Disconnect(peer);
  EXPECT_EQ(done_after_close, 5u);
}

}  // namespace
}  // namespace motley
