// SPDX-License-Identifier: Apache-2.0
// Transport over TCP and libuv. Bulk payloads go from the kernel straight into the receiver's
// buffer. Loopback connections choose cubic congestion control for themselves; others keep the
// system's choice. A peer whose bytes make no sense loses its connection: a damaged stream cannot
// be trusted any further. Plain text, no authentication: that is the receiver's first message.
//
// Processes of one machine and user find each other at the same addresses, and then large payloads
// go through shared memory (shared_memory.h), without anybody having to ask for it.
#pragma once

#include <cstdint>
#include <memory>

#include "base/parallel.h"
#include "transport/transport.h"

struct uv_loop_s;

namespace motley {

// How peers at loopback addresses are reached that belong to the same user.
enum class Nearby : uint8_t { kSharedMemory, kTcp };

// `loop` outlives the transport and is run once more after Close, so that handles can go. Addresses
// are "HOST:PORT" or "[IPV6]:PORT"; host names are looked up. libuv writes without MSG_NOSIGNAL:
// the caller blocks or ignores SIGPIPE on the loop's thread, lest a peer that went away end the
// process. `parallel` (may be null, outlives the transport) helps a node with many peers on its
// machine to copy what they send.
std::unique_ptr<Transport> MakeTcpTransport(uv_loop_s* loop, Nearby nearby = Nearby::kSharedMemory,
                                            ParallelFor* parallel = nullptr);

}  // namespace motley
