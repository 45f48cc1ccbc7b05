// SPDX-License-Identifier: Apache-2.0
#include "cli/machine/own_address.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <netinet/in.h>

#include <deque>
#include <string>

namespace motley {
namespace {

constexpr unsigned kUp = IFF_UP | IFF_RUNNING;

// The interfaces of a machine, in order.
class Interfaces {
 public:
  Interfaces& Add(const std::string& ip, unsigned flags = kUp) {
    sockaddr_storage& address = addresses_.emplace_back();
    if (auto* v4 = reinterpret_cast<sockaddr_in*>(&address);
        inet_pton(AF_INET, ip.c_str(), &v4->sin_addr) == 1) {
      v4->sin_family = AF_INET;
    } else {
      auto* v6 = reinterpret_cast<sockaddr_in6*>(&address);
      EXPECT_EQ(inet_pton(AF_INET6, ip.c_str(), &v6->sin6_addr), 1) << ip;
      v6->sin6_family = AF_INET6;
    }
    return Link(reinterpret_cast<sockaddr*>(&address), flags);
  }
  Interfaces& AddWithoutAddress() { return Link(nullptr, kUp); }
  const ifaddrs* first() const { return list_.empty() ? nullptr : &list_.front(); }

 private:
  Interfaces& Link(sockaddr* address, unsigned flags) {
    ifaddrs* before = list_.empty() ? nullptr : &list_.back();
    ifaddrs& one = list_.emplace_back();
    one.ifa_addr = address;
    one.ifa_flags = flags;
    if (before != nullptr) before->ifa_next = &one;
    return *this;
  }
  std::deque<sockaddr_storage> addresses_;
  std::deque<ifaddrs> list_;
};

TEST(OwnAddress, IsTheFirstThatOthersCanReach) {
  Interfaces machine;
  machine.AddWithoutAddress()
      .Add("127.0.0.1", kUp | IFF_LOOPBACK)
      .Add("10.9.9.9", IFF_UP)
      .Add("169.254.3.4")
      .Add("2001:db8::7")
      .Add("192.168.1.20")
      .Add("10.0.0.5");
  EXPECT_EQ(FirstReachable(machine.first(), false), "192.168.1.20");
  EXPECT_EQ(FirstReachable(machine.first(), true), "192.168.1.20");
}

TEST(OwnAddress, IsOfIpv6OnlyForAServerThatHearsIt) {
  Interfaces machine;
  machine.Add("fe80::1").Add("2001:db8::7").Add("2001:db8::8");
  EXPECT_EQ(FirstReachable(machine.first(), false), "");
  EXPECT_EQ(FirstReachable(machine.first(), true), "[2001:db8::7]");
  EXPECT_EQ(FirstReachable(nullptr, true), "");
}

TEST(OwnAddress, LoopbackIsTold) {
  for (const char* here : {"127.0.0.1:7000", "[::1]:7000", "localhost:7000", "unix://digits",
                           "tcp://127.0.0.1:7000"}) {
    EXPECT_TRUE(IsLoopback(here)) << here;
  }
  for (const char* there :
       {"10.0.0.5:80", "0.0.0.0:7000", "[2001:db8::7]:7000", "tcp://0.0.0.0:7000"}) {
    EXPECT_FALSE(IsLoopback(there)) << there;
  }
}

TEST(OwnAddress, StandsOnlyForAllAddresses) {
  for (const char* own : {"127.0.0.1:7000", "10.0.0.5:80", "[::1]:7000", "10.0.0.0:1"}) {
    EXPECT_EQ(ReachableAddress(own), own);
  }
  for (const char* all : {"0.0.0.0:7000", "[::]:7000"}) {
    const std::string shown = ReachableAddress(all);
    EXPECT_NE(shown, all);
    EXPECT_TRUE(shown.ends_with(":7000")) << shown;
    EXPECT_EQ(ReachableAddress(std::string("tcp://") + all), "tcp://" + shown);
  }
}

TEST(OwnAddress, TakesTheHostThatOthersUse) {
  EXPECT_EQ(ReachableAddress("0.0.0.0:7000", "train.local"), "train.local:7000");
  EXPECT_EQ(ReachableAddress("10.0.0.5:7000", "train.local"), "train.local:7000");
  EXPECT_EQ(ReachableAddress("tcp://0.0.0.0:7000", "train.local"), "tcp://train.local:7000");
  EXPECT_EQ(ReachableAddress("tcp://[::]:7000", "[2001:db8::7]"), "tcp://[2001:db8::7]:7000");
  EXPECT_EQ(ReachableAddress("unix://digits", "train.local"), "unix://digits");
}

}  // namespace
}  // namespace motley
