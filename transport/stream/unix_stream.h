// SPDX-License-Identifier: Apache-2.0
// Streams over local sockets (local_socket.h), between processes of one machine and user. They also
// pass open files, which sets up shared memory. Loop thread only.
#pragma once

#include <sys/socket.h>

#include <memory>
#include <string>

#include "transport/stream/connecting.h"

namespace motley {

// A name that the user chose, without "unix://". kInvalidArgument with an example if it is none.
Status CheckUnixName(const std::string& name);
// Listens at the name. kUnavailable says that it is in use.
Result<std::unique_ptr<Listener>> ListenUnix(const StreamOptions& options, const std::string& name,
                                             Listener::Handler& handler);
std::shared_ptr<Dialing> DialUnix(const StreamOptions& options, const std::string& name,
                                  Dialed done);

// Listens at the local socket beside the TCP listener at `address`. Null if that fails; every peer
// then uses TCP.
std::unique_ptr<Listener> ListenBeside(uv_loop_s* loop, const sockaddr_storage& address,
                                       Listener::Handler& handler);
// A stream to that socket; null if there is none. `name` is the peer's address for messages.
std::unique_ptr<PeerStream> ConnectBeside(uv_loop_s* loop, const sockaddr_storage& address,
                                          const std::string& name);

}  // namespace motley
