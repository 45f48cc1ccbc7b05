// SPDX-License-Identifier: Apache-2.0
// A shortcut to a TCP address for processes of the same machine and user. Every loopback listener
// has a Unix socket beside it, in Linux's abstract namespace: such names have no files and vanish
// with their process. Any thread.
#pragma once

#include <sys/socket.h>

#include <optional>
#include <string>

namespace motley {

// A socket that listens beside the TCP listener at `address`; nothing if the system has no such
// sockets.
std::optional<int> ListenLocally(const sockaddr_storage& address, int backlog);
// A connection to that socket. Nothing when there is no such listener, when it belongs to another
// user, or when its queue is full; the caller then uses TCP. Does not block.
std::optional<int> ConnectLocally(const sockaddr_storage& address);
// True if the other end belongs to the user of this process.
bool IsOwnUser(int socket);
// A name of the other end for messages, like "process 4711".
std::string DescribePeer(int socket);

}  // namespace motley
