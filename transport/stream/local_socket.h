// SPDX-License-Identifier: Apache-2.0
// A shortcut to a TCP address for processes of the same machine and user. Every loopback listener
// has a Unix socket beside it, in Linux's abstract namespace: such names have no files and vanish
// with their process. Any thread.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <optional>

namespace motley {

// A socket bound beside the TCP listener at `address`; nothing if the system has no such sockets.
std::optional<int> BindLocally(const sockaddr_storage& address);
// A connection to that socket. Nothing when there is no such listener, when it belongs to another
// user, or when its queue is full; the caller then uses TCP. Does not block.
std::optional<int> ConnectLocally(const sockaddr_storage& address);

// The process at the other end, as the kernel reports it; nothing if it does not.
struct LocalPeer {
  uint32_t user = 0;
  int32_t process = 0;  // 0: it is in a PID namespace that this process cannot see.
};
std::optional<LocalPeer> PeerOf(int socket);
// True if the other end belongs to the user of this process.
bool IsOwnUser(int socket);

}  // namespace motley
