// SPDX-License-Identifier: Apache-2.0
// Transport over TCP and libuv. Bulk payloads go from the kernel straight into the receiver's
// buffer. Loopback connections choose cubic congestion control for themselves; others keep the
// system's choice.
#pragma once

#include <memory>

#include "transport/transport.h"

struct uv_loop_s;

namespace motley {

// `loop` outlives the transport and is run once more after Close, so that handles can go.
std::unique_ptr<Transport> MakeTcpTransport(uv_loop_s* loop);

}  // namespace motley
