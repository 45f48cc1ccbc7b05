// SPDX-License-Identifier: Apache-2.0
#include "cli/machine/own_address.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>

#include <array>
#include <string_view>

#include "transport/stream/schemes.h"

namespace motley {
namespace {

constexpr std::string_view kSchemeEnd = "://";
constexpr std::string_view kAllIpv4 = "0.0.0.0:";
constexpr std::string_view kAllIpv6 = "[::]:";

bool Up(const ifaddrs& one) {
  const unsigned wanted = IFF_UP | IFF_RUNNING;
  return (one.ifa_flags & (wanted | IFF_LOOPBACK)) == wanted;
}

// The text of an IPv4 address; empty for other families and link-local addresses.
std::string Ipv4Text(const sockaddr& address) {
  if (address.sa_family != AF_INET) return "";
  const auto& ip = reinterpret_cast<const sockaddr_in&>(address).sin_addr;
  constexpr uint32_t kLinkLocal = 0xA9FE0000;  // 169.254.0.0/16
  if ((ntohl(ip.s_addr) & 0xFFFF0000) == kLinkLocal) return "";
  std::array<char, INET_ADDRSTRLEN> text{};
  return inet_ntop(AF_INET, &ip, text.data(), text.size());
}

std::string Ipv6Text(const sockaddr& address) {
  if (address.sa_family != AF_INET6) return "";
  const auto& ip = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  if (IN6_IS_ADDR_LINKLOCAL(&ip)) return "";
  std::array<char, INET6_ADDRSTRLEN> text{};
  return std::string("[") + inet_ntop(AF_INET6, &ip, text.data(), text.size()) + "]";
}

}  // namespace

std::string FirstReachable(const ifaddrs* addresses, bool ipv6) {
  std::string second;
  for (const ifaddrs* one = addresses; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || !Up(*one)) continue;
    if (std::string text = Ipv4Text(*one->ifa_addr); !text.empty()) return text;
    if (ipv6 && second.empty()) second = Ipv6Text(*one->ifa_addr);
  }
  return second;
}

// A scheme, such as "tcp://", says which transport to use, not where.
std::string ReachableAddress(const std::string& address) {
  if (const size_t end = address.find(kSchemeEnd); end != std::string::npos) {
    const size_t host = end + kSchemeEnd.size();
    return address.substr(0, host) + ReachableAddress(address.substr(host));
  }
  const bool ipv6 = address.starts_with(kAllIpv6);
  if (!ipv6 && !address.starts_with(kAllIpv4)) return address;
  std::string host;
  if (ifaddrs* all = nullptr; getifaddrs(&all) == 0) {
    host = FirstReachable(all, ipv6);
    freeifaddrs(all);
  }
  if (host.empty()) host = ipv6 ? "[::1]" : "127.0.0.1";
  return host + address.substr(address.rfind(':'));
}

bool IsLoopback(const std::string& address) { return ReachedOnlyFromHere(address); }

}  // namespace motley
