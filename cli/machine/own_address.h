// SPDX-License-Identifier: Apache-2.0
// Finds the address by which other machines reach this one.
#pragma once

#include <ifaddrs.h>

#include <string>

namespace motley {

// The first of `addresses` whose interface is up and not a loopback, like "192.168.1.20" or
// "[2001:db8::7]". IPv4 comes before IPv6, which only a server on IPv6 accepts. Link-local
// addresses do not count. Empty: none.
std::string FirstReachable(const ifaddrs* addresses, bool ipv6);

// Converts the listening address of a server to one for users elsewhere, who reach this machine as
// `host`. If that is empty and the address means all addresses ("0.0.0.0:7000", "[::]:7000"),
// FirstReachable of this machine replaces them, or loopback if there is nothing else.
std::string ReachableAddress(const std::string& address, const std::string& host = "");

// True if only this machine reaches `address` ("127.0.0.1:7000", "[::1]:7000", "localhost:7000",
// "unix://digits").
bool IsLoopback(const std::string& address);

}  // namespace motley
