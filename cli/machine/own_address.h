// SPDX-License-Identifier: Apache-2.0
// Under which address other machines reach this one.
#pragma once

#include <ifaddrs.h>

#include <string>

namespace motley {

// "192.168.1.20" or "[2001:db8::7]": the first of `addresses` whose interface is up and no
// loopback, of IPv4 before IPv6 (which only a server on IPv6 hears), none that is good for one link
// alone. Empty: there is none.
std::string FirstReachable(const ifaddrs* addresses, bool ipv6);

// `address`, as a server listens at it, for people elsewhere: with FirstReachable of this machine
// where it says all ("0.0.0.0:7000", "[::]:7000"), or with loopback, where that is all there is.
std::string ReachableAddress(const std::string& address);

// Whether only this machine reaches `address` ("127.0.0.1:7000", "[::1]:7000", "localhost:7000").
bool IsLoopback(const std::string& address);

}  // namespace motley
