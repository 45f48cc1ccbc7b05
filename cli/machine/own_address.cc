// SPDX-License-Identifier: Apache-2.0
#include "cli/machine/own_address.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>

#include <array>
#include <string_view>

#include "transport/stream/schemes.h"
#include "transport/stream/tcp_address.h"

namespace motley {
namespace {

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

std::string ReachableAddress(const std::string& address, const std::string& host) {
  if (!host.empty()) {
    constexpr std::string_view kSchemeEnd = "://";
    const size_t scheme = address.find(kSchemeEnd);
    const size_t begin = scheme == std::string::npos ? 0 : scheme + kSchemeEnd.size();
    const size_t port = address.rfind(':');
    if (port == std::string::npos || port < begin) return address;  // A local socket has no host.
    return address.substr(0, begin) + host + address.substr(port);
  }
  return ReplaceAnyHost(address, [](bool ipv6) {
    std::string found;
    if (ifaddrs* all = nullptr; getifaddrs(&all) == 0) {
      found = FirstReachable(all, ipv6);
      freeifaddrs(all);
    }
    if (!found.empty()) return found;
    return std::string(ipv6 ? "[::1]" : "127.0.0.1");
  });
}

bool IsLoopback(const std::string& address) { return ReachedOnlyFromHere(address); }

}  // namespace motley
