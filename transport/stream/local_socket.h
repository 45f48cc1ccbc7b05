// SPDX-License-Identifier: Apache-2.0
// Local sockets between processes of one machine and user, in Linux's abstract namespace: their
// names have no files and vanish with their process. Any thread.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"

namespace motley {

inline constexpr size_t kMaxLocalName = 90;  // Bytes.

// The name of the socket beside a loopback TCP listener, which is a shortcut to it. Nothing for
// addresses of other machines.
std::optional<std::string> NameBeside(sockaddr_storage address);

// A socket with this name (at most kMaxLocalName bytes) for listen(). kUnavailable says why there
// is none.
Result<int> BindLocally(const std::string& name);
// A connection to the socket of that name. kUnavailable when there is no such listener, when it
// belongs to another user, or when its queue is full. Does not block.
Result<int> ConnectLocally(const std::string& name);

// The process at the other end, as the kernel reports it; nothing if it does not.
struct LocalPeer {
  uint32_t user = 0;
  int32_t process = 0;  // 0: it is in a PID namespace that this process cannot see.
};
std::optional<LocalPeer> PeerOf(int socket);
// True if the other end belongs to the user of this process.
bool IsOwnUser(int socket);

}  // namespace motley
