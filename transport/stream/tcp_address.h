// SPDX-License-Identifier: Apache-2.0
// Addresses as users write them ("host:port", "[::1]:7440") and as sockets have them. Pure; any
// thread.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/status.h"

namespace motley {

struct HostPort {
  std::string host;  // Without brackets.
  uint16_t port = 0;
};

// kInvalidArgument, with an example of a valid address, for anything else.
Result<HostPort> ParseHostPort(const std::string& address);

// The address of a numeric host or of "localhost" (127.0.0.1); nothing for names to be looked up.
std::optional<sockaddr_storage> NumericAddress(const HostPort& where);

// The address with `host` in place of one that stands for all addresses of a machine:
// "0.0.0.0:7440",
// "[::]:7440", also with a scheme such as "tcp://". The other addresses stay as they are. `host`
// gets true if it is for IPv6, and returns its host with brackets where they belong.
std::string ReplaceAnyHost(const std::string& address,
                           const std::function<std::string(bool ipv6)>& host);

// "127.0.0.1:7440", "[::1]:7440".
std::string FormatAddress(const sockaddr_storage& address);
bool IsLoopback(const sockaddr_storage& address);
bool SameAddress(const sockaddr_storage& a, const sockaddr_storage& b);

}  // namespace motley
