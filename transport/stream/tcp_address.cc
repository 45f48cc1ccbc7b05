// SPDX-License-Identifier: Apache-2.0
#include "transport/stream/tcp_address.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>

namespace motley {
namespace {

// The limit of DNS. Some resolvers silently cut longer names.
constexpr size_t kMaxHostLength = 253;

const sockaddr_in& AsV4(const sockaddr_storage& address) {
  return reinterpret_cast<const sockaddr_in&>(address);
}
const sockaddr_in6& AsV6(const sockaddr_storage& address) {
  return reinterpret_cast<const sockaddr_in6&>(address);
}

Status BadAddress(const std::string& address, std::string_view why) {
  return Status::InvalidArgument(fmt::format(
      "\"{}\" is not an address: {}; write HOST:PORT, like 192.168.1.10:7440 or [::1]:7440",
      address.substr(0, kMaxHostLength), why));
}

}  // namespace

Result<HostPort> ParseHostPort(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos) {
    return Status::InvalidArgument(
        fmt::format("\"{}\": the port is missing; write HOST:PORT, like 192.168.1.10:7000",
                    address.substr(0, kMaxHostLength)));
  }
  HostPort where;
  where.host = address.substr(0, colon);
  const std::string_view port = std::string_view(address).substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), where.port);
  if (error != std::errc() || end != port.data() + port.size()) {
    return BadAddress(address, "the port must be a number from 0 to 65535");
  }
  if (where.host.size() >= 2 && where.host.front() == '[' && where.host.back() == ']') {
    where.host = where.host.substr(1, where.host.size() - 2);
  } else if (where.host.find(':') != std::string::npos) {
    return BadAddress(address, "an IPv6 host needs brackets");
  }
  if (where.host.empty()) return BadAddress(address, "the host is missing");
  if (where.host.size() > kMaxHostLength) return BadAddress(address, "the host is too long");
  if (where.host.find('\0') != std::string::npos) return BadAddress(address, "it has a zero byte");
  return where;
}

std::string ReplaceAnyHost(const std::string& address,
                           const std::function<std::string(bool ipv6)>& host) {
  constexpr std::string_view kSchemeEnd = "://";
  size_t begin = address.find(kSchemeEnd);
  begin = begin == std::string::npos ? 0 : begin + kSchemeEnd.size();
  for (const auto& [all, ipv6] :
       {std::pair<std::string_view, bool>{"0.0.0.0:", false}, {"[::]:", true}}) {
    const size_t port = begin + all.size() - 1;
    if (address.compare(begin, all.size(), all) != 0) continue;
    return address.substr(0, begin) + host(ipv6) + address.substr(port);
  }
  return address;
}

std::optional<sockaddr_storage> NumericAddress(const HostPort& where) {
  const std::string host = where.host == "localhost" ? "127.0.0.1" : where.host;
  sockaddr_storage storage{};
  auto& v4 = reinterpret_cast<sockaddr_in&>(storage);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(storage);
  if (inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(where.port);
    return storage;
  }
  if (inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(where.port);
    return storage;
  }
  return std::nullopt;
}

std::string FormatAddress(const sockaddr_storage& address) {
  char text[INET6_ADDRSTRLEN] = {};
  if (address.ss_family == AF_INET) {
    inet_ntop(AF_INET, &AsV4(address).sin_addr, text, sizeof(text));
    return fmt::format("{}:{}", text, ntohs(AsV4(address).sin_port));
  }
  if (address.ss_family == AF_INET6) {
    inet_ntop(AF_INET6, &AsV6(address).sin6_addr, text, sizeof(text));
    return fmt::format("[{}]:{}", text, ntohs(AsV6(address).sin6_port));
  }
  return "an unknown address";
}

bool IsLoopback(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) return ntohl(AsV4(address).sin_addr.s_addr) >> 24 == 127;
  if (address.ss_family != AF_INET6) return false;
  const in6_addr& v6 = AsV6(address).sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(&v6) || (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == 127);
}

bool SameAddress(const sockaddr_storage& a, const sockaddr_storage& b) {
  if (a.ss_family != b.ss_family) return false;
  if (a.ss_family == AF_INET) {
    return AsV4(a).sin_port == AsV4(b).sin_port &&
           AsV4(a).sin_addr.s_addr == AsV4(b).sin_addr.s_addr;
  }
  return AsV6(a).sin6_port == AsV6(b).sin6_port &&
         std::memcmp(&AsV6(a).sin6_addr, &AsV6(b).sin6_addr, sizeof(in6_addr)) == 0;
}

}  // namespace motley
