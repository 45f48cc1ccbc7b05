// SPDX-License-Identifier: Apache-2.0
// Tests the shared memory between peers on one machine. TransportSuite covers the rest.
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "tests/transport/channel/socket_world.h"
#include "transport/stream/local_socket.h"

namespace motley {
namespace {

using testing::HasSubstr;

constexpr size_t kMiB = size_t{1} << 20;

// A bare socket connected to the one beside a TCP listener, or -1.
int ConnectTo(const std::string& address) {
  const auto name = NameBeside(*NumericAddress(ParseHostPort(address).value()));
  if (!name) return -1;
  const auto socket = ConnectLocally(*name);
  return socket.ok() ? *socket : -1;
}

// A listening transport, and a bare local socket connected to it.
class NearbyTest : public testing::Test {
 protected:
  NearbyTest() {
    const auto address = server_.transport().Listen("127.0.0.1:0");
    EXPECT_TRUE(address.ok()) << address.status().ToString();
    address_ = *address;
    socket_ = ConnectTo(address_);
    EXPECT_GE(socket_, 0);
    Run([&] { return server_.connected.size() == 1; });
  }
  ~NearbyTest() override { close(socket_); }
  void Run(const std::function<bool()>& done) {
    ASSERT_TRUE(world_.RunUntil(done)) << "the condition never held";
  }
  void Write(const DecodedHeader& frame) {
    const auto bytes = EncodeHeader(frame);
    ASSERT_EQ(send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL), ssize_t{kHeaderSize});
  }
  // Reads what `peer` is sent until the control message of `row`; returns the number of bulk
  // messages before it.
  size_t BulkBefore(int peer, uint32_t row) {
    Bytes read;
    size_t at = 0;
    size_t before = 0;
    bool found = false;
    Run([&] {
      std::array<std::byte, 65536> room{};
      ssize_t count = 0;
      while ((count = recv(peer, room.data(), room.size(), MSG_DONTWAIT)) > 0) {
        read.insert(read.end(), room.begin(), room.begin() + count);
      }
      while (!found && read.size() >= at + kHeaderSize) {
        const auto frame = DecodeHeader(std::span(read).subspan(at).first<kHeaderSize>());
        if (!frame.ok()) return true;
        found = frame->header.row_id == row;
        before += found ? 0 : 1;
        at += kHeaderSize + (frame->shared_page == 0 ? frame->header.length : 0);
      }
      return found;
    });
    EXPECT_TRUE(found);
    return before;
  }
  void ExpectDropped() {
    Run([&] { return !server_.lost_peers.empty(); });
    EXPECT_EQ(server_.lost_status.at(0).code(), StatusCode::kDataError);
    EXPECT_THAT(server_.lost_status[0].ToString(), HasSubstr(std::to_string(getpid())));
    EXPECT_TRUE(server_.arrived.empty());
  }

  SocketWorld world_{"127.0.0.1:0"};
  TestNode server_{world_};
  std::string address_;
  int socket_ = -1;
};

TEST_F(NearbyTest, PlacesWithoutMemoryEndTheConnection) {
  Write({{.kind = FrameKind::kGradient, .length = 100'000}, 1, false, 1});
  ExpectDropped();
  EXPECT_THAT(server_.lost_status[0].ToString(), HasSubstr("ulimit -n"));
}

TEST_F(NearbyTest, ReleasesOfWhatWasNotSentEndTheConnection) {
  Write({{.kind = FrameKind::kRelease, .offset = 1}, 0, false, 0});
  ExpectDropped();
}

TEST_F(NearbyTest, UnexpectedDescriptorsEndTheConnection) {
  const auto header = EncodeHeader({{.kind = FrameKind::kGradient}, 0, false, 0});
  iovec part{const_cast<std::byte*>(header.data()), header.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> room{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = room.data();
  message.msg_controllen = room.size();
  cmsghdr* control = CMSG_FIRSTHDR(&message);
  control->cmsg_level = SOL_SOCKET;
  control->cmsg_type = SCM_RIGHTS;
  control->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(control), &socket_, sizeof(int));
  ASSERT_GT(sendmsg(socket_, &message, MSG_NOSIGNAL), 0);
  Run([&] { return !server_.lost_peers.empty(); });
  EXPECT_EQ(server_.lost_status.at(0).code(), StatusCode::kDataError);
}

// There are more peers that do not read than fit into memory. Payloads then go through the socket,
// and other peers are still served.
TEST_F(NearbyTest, PeersThatDoNotReadDoNotBlockOthers) {
  constexpr size_t kStuck = 20;
  constexpr uint32_t kEach = 8;
  std::vector<int> stuck;
  std::vector<SendId> last;
  for (size_t i = 0; i < kStuck; ++i) {
    stuck.push_back(ConnectTo(address_));
    ASSERT_GE(stuck.back(), 0);
    Run([&] { return server_.connected.size() == i + 2; });
    const PeerId peer = server_.connected.back();
    for (uint32_t m = 1; m < kEach; ++m) server_.Send(peer, Pattern(kMiB, m));
    last.push_back(server_.Send(peer, Pattern(kMiB, kEach)));
  }
  // The later peers found the memory full. Their unsent messages can still be cancelled, and
  // control overtakes them.
  for (const SendId id : last) {
    server_.transport().Cancel(id);
    ASSERT_TRUE(server_.Done(id));
    EXPECT_EQ(server_.done.at(id).code(), StatusCode::kCancelled);
  }
  server_.Send(server_.connected.back(), Pattern(100, 1), Priority::kControl, 1000);
  EXPECT_LT(BulkBefore(stuck.back(), 1000), 3u);
  TestNode reader(world_);
  reader.transport().Connect(address_);
  Run([&] { return reader.connected.size() == 1 && server_.connected.size() == kStuck + 2; });
  const PeerId to_reader = server_.connected.back();
  for (uint32_t m = 0; m < 50; ++m) server_.Send(to_reader, Pattern(kMiB, m), Priority::kBulk, m);
  Run([&] { return reader.arrived.size() == 50; });
  for (uint32_t m = 0; m < 50; ++m) EXPECT_TRUE(reader.arrived[m].payload == Pattern(kMiB, m)) << m;
  for (const int each : stuck) close(each);
  Run([&] { return server_.lost_peers.size() == kStuck; });
  EXPECT_EQ(server_.done.size(), kStuck * kEach + 51);
}

TEST_F(NearbyTest, ControlPassesBulkThatWaitsForMemory) {
  TestNode reader(world_);
  const PeerId to_server = reader.transport().Connect(address_);
  Run([&] { return reader.connected.size() == 1; });
  for (uint32_t m = 0; m < 64; ++m) reader.Send(to_server, Pattern(kMiB, m), Priority::kBulk, m);
  reader.Send(to_server, Pattern(100, 1), Priority::kControl, 1000);
  Run([&] { return server_.arrived.size() == 65; });
  size_t place = 0;
  while (server_.arrived[place].header.row_id != 1000) ++place;
  EXPECT_LT(place, 16u);
  EXPECT_EQ(reader.transport().QueuedBytes(to_server), 0u);
}

// Small messages go through the socket, where there is room when the memory is full.
TEST_F(NearbyTest, SmallMessagesDoNotPassLargeOnesOfTheirPriority) {
  TestNode reader(world_);
  const PeerId to_server = reader.transport().Connect(address_);
  Run([&] { return reader.connected.size() == 1; });
  constexpr uint32_t kMessages = 128;
  for (uint32_t m = 0; m < kMessages; ++m) {
    reader.Send(to_server, Pattern(m % 2 == 0 ? kMiB : 100, m), Priority::kBulk, m);
  }
  Run([&] { return server_.arrived.size() == kMessages; });
  for (uint32_t m = 0; m < kMessages; ++m) EXPECT_EQ(server_.arrived[m].header.row_id, m);
}

TEST_F(NearbyTest, OneBufferSentToManyArrivesAtAll) {
  constexpr uint32_t kPeers = 5;
  std::vector<std::unique_ptr<TestNode>> peers;
  for (uint32_t i = 0; i < kPeers; ++i) {
    peers.push_back(std::make_unique<TestNode>(world_));
    peers.back()->transport().Connect(address_);
  }
  Run([&] { return server_.connected.size() == kPeers + 1; });
  for (int round = 0; round < 3; ++round) {
    std::vector<Bytes> slices;
    for (uint32_t m = 0; m < 40; ++m) slices.push_back(Pattern(kMiB / 2, 100 * round + m));
    size_t left = kPeers * slices.size();
    for (uint32_t i = 0; i < kPeers; ++i) {
      for (const Bytes& slice : slices) {
        const BytesView piece(slice);
        server_.transport().Send(server_.connected[i + 1], {.kind = FrameKind::kParameters},
                                 {&piece, 1}, Priority::kBulk, [&](const Status&) { --left; });
      }
    }
    Run([&] { return left == 0; });
    for (Bytes& slice : slices) std::fill(slice.begin(), slice.end(), std::byte{0xee});
    for (const auto& peer : peers) {
      Run([&] { return peer->arrived.size() == (round + 1) * slices.size(); });
      for (uint32_t m = 0; m < slices.size(); ++m) {
        EXPECT_TRUE(peer->arrived[round * slices.size() + m].payload ==
                    Pattern(kMiB / 2, 100 * round + m));
      }
    }
  }
}

TEST_F(NearbyTest, ConnectingFailsWithoutAListener) {
  server_.transport().Close();
  EXPECT_EQ(ConnectTo(address_), -1);
  EXPECT_EQ(ConnectTo("192.0.2.1:7440"), -1);
}

}  // namespace
}  // namespace motley
