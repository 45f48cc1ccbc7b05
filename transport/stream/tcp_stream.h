// SPDX-License-Identifier: Apache-2.0
// Streams over TCP. Addresses are "HOST:PORT" or "[IPV6]:PORT". Loop thread only.
#pragma once

#include <sys/socket.h>

#include <functional>
#include <memory>
#include <string>

#include "transport/stream/connecting.h"

namespace motley {

// A quicker way to a listener at this address, if there is one. Null otherwise.
using Shortcut = std::function<std::unique_ptr<PeerStream>(const sockaddr_storage& address)>;

// Listens at the address; port 0 takes a free one. May block on a name server. kUnavailable names
// the address and the reason, kResource the limit of open files.
Result<std::unique_ptr<Listener>> ListenTcp(const StreamOptions& options,
                                            const std::string& address, Listener::Handler& handler);

// Looks up the address, and connects to the first of its addresses that answers. `shortcut` may be
// null; it is asked before each of them.
std::shared_ptr<Dialing> DialTcp(const StreamOptions& options, const std::string& address,
                                 Shortcut shortcut, Dialed done);

}  // namespace motley
