// SPDX-License-Identifier: Apache-2.0
// The way to a TCP address for processes of the same machine and user: a Unix socket beside every
// loopback listener, in Linux's namespace of names without files, which vanish with their process.
// Any thread.
#pragma once

#include <sys/socket.h>

#include <optional>
#include <string>

namespace motley {

// A socket that listens beside the TCP listener at `address`; nothing where there is no such way.
std::optional<int> ListenLocally(const sockaddr_storage& address, int backlog);
// A connection to that socket; nothing when TCP is the only way: no such listener, of another user,
// or it has too many to accept. Does not block.
std::optional<int> ConnectLocally(const sockaddr_storage& address);
// Whether the other end belongs to the user of this process.
bool IsOwnUser(int socket);
// "process 4711", for messages.
std::string DescribePeer(int socket);

}  // namespace motley
