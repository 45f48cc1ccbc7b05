// SPDX-License-Identifier: Apache-2.0
// What a transport knows about a peer before the peer has sent anything.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace motley {

inline constexpr const char* kThisMachine = "this machine";  // A PeerIdentity's host.

struct PeerIdentity {
  // A name for messages: "192.168.1.10:41000", "process 4711", or the address given to Connect.
  std::string address;
  // The peer's machine: its address without the port, the same text for all connections from there.
  std::string host;
  bool same_machine = false;  // No wire that could damage bytes is between the two.
  // The user and the process at the other end, as the kernel reports them. Only local sockets have
  // them; a process in another PID namespace has no number here.
  std::optional<uint32_t> user;
  std::optional<int32_t> process;
};

}  // namespace motley
