// SPDX-License-Identifier: Apache-2.0
// Tests what only happens between machines, at an address of this machine that others can reach.
#include <gmock/gmock.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <array>

#include "tests/transport/channel/socket_world.h"
#include "transport/wire/checksum.h"

namespace motley {
namespace {

using testing::HasSubstr;

// An IPv4 address of a network interface that is up; empty if there is only loopback.
std::string OwnAddress() {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return "";
  std::string found;
  for (const ifaddrs* one = all; one != nullptr && found.empty(); one = one->ifa_next) {
    const bool up = (one->ifa_flags & IFF_UP) != 0 && (one->ifa_flags & IFF_LOOPBACK) == 0;
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET || !up) continue;
    std::array<char, INET_ADDRSTRLEN> text{};
    const auto* address = reinterpret_cast<const sockaddr_in*>(one->ifa_addr);
    inet_ntop(AF_INET, &address->sin_addr, text.data(), text.size());
    found = text.data();
  }
  freeifaddrs(all);
  return found;
}

// A transport that listens at that address, and a bare socket connected to it.
class BetweenMachines : public testing::Test {
 protected:
  void SetUp() override {
    const std::string own = OwnAddress();
    if (own.empty()) GTEST_SKIP() << "this machine has no address but loopback";
    const auto address = server_.transport().Listen(own + ":0");
    ASSERT_TRUE(address.ok()) << address.status().ToString();
    client_.Connect(*address);
    Run([&] { return server_.connected.size() == 1; });
  }
  void Run(const std::function<bool()>& done) {
    ASSERT_TRUE(world_.RunUntil(done)) << "the condition never held";
  }
  // The next `count` bytes that the server sends.
  Bytes Receive(size_t count) {
    Bytes bytes;
    Run([&] {
      Bytes room(count - bytes.size());
      bytes.insert(bytes.end(), room.begin(),
                   room.begin() + static_cast<ptrdiff_t>(client_.Read(room)));
      return bytes.size() == count;
    });
    return bytes;
  }

  SocketWorld world_;
  TestNode server_{world_};
  RawSocket client_;
};

TEST_F(BetweenMachines, EveryPayloadCarriesItsChecksum) {
  const Bytes payload = Pattern(100'000, 7);
  for (const Priority priority : {Priority::kBulk, Priority::kControl}) {
    server_.Send(server_.connected[0], payload, priority, 3);
    const Bytes header = Receive(kHeaderSize);
    const auto frame = DecodeHeader(std::span(header).first<kHeaderSize>());
    ASSERT_TRUE(frame.ok()) << frame.status().ToString();
    EXPECT_TRUE(frame->checked) << "damaged payloads would not be detected";
    EXPECT_EQ(Receive(payload.size()), payload);
    Checksum checksum;
    checksum.Add(payload);
    EXPECT_EQ(frame->payload_checksum, checksum.Value());
  }
}

TEST_F(BetweenMachines, APayloadThatIsDamagedOnTheWayEndsTheConnection) {
  server_.Send(server_.connected[0], Pattern(50'000, 1), Priority::kBulk, 3);
  Bytes frame = Receive(kHeaderSize + 50'000);
  TestNode other(world_);
  const auto address = other.transport().Listen(OwnAddress() + ":0");
  ASSERT_TRUE(address.ok());
  RawSocket relay;
  relay.Connect(*address);
  frame[kHeaderSize + 40'000] ^= std::byte{16};
  relay.Write(frame);
  Run([&] { return !other.lost_peers.empty(); });
  EXPECT_EQ(other.lost_status[0].code(), StatusCode::kDataError);
  EXPECT_THAT(other.lost_status[0].ToString(), HasSubstr("damaged"));
  EXPECT_TRUE(other.arrived.empty());
}

}  // namespace
}  // namespace motley
