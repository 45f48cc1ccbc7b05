// SPDX-License-Identifier: Apache-2.0
// Transport over TCP and libuv. Bulk payloads go from the kernel straight into the receiver's
// buffer. Loopback connections choose cubic congestion control for themselves; others keep the
// system's choice. A peer that sends malformed bytes loses its connection: a damaged stream cannot
// be trusted any further. The connection is plain text and not authenticated; the receiver
// authenticates by the first message.
//
// Processes of one machine and user are found at the same addresses. Their large payloads go
// through shared memory (shared_memory.h) automatically.
#pragma once

#include <cstdint>
#include <memory>

#include "base/parallel.h"
#include "transport/transport.h"

struct uv_loop_s;

namespace motley {

// How to reach peers of the same user at loopback addresses.
enum class Nearby : uint8_t { kSharedMemory, kTcp };

// `loop` must outlive the transport and be run once more after Close, so that handles can go.
// Addresses are "HOST:PORT" or "[IPV6]:PORT"; host names are looked up. libuv writes without
// MSG_NOSIGNAL, so the caller blocks or ignores SIGPIPE on the loop's thread: otherwise a peer that
// went away would end the process. `parallel` may be null and must outlive the transport; it speeds
// up copying in a node with many peers on its machine.
std::unique_ptr<Transport> MakeTcpTransport(uv_loop_s* loop, Nearby nearby = Nearby::kSharedMemory,
                                            ParallelFor* parallel = nullptr);

}  // namespace motley
