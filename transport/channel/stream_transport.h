// SPDX-License-Identifier: Apache-2.0
// Transport over streams: any scheme of the list (transport/stream/schemes.h), with a channel on
// each. Bulk payloads go from the kernel straight into the receiver's buffer. A peer that sends
// malformed bytes loses its connection: a damaged stream cannot be trusted any further.
// Connections are plain text and not authenticated; the receiver authenticates by the first
// message.
//
// Processes of one machine and user find each other at addresses without a scheme, too. Their large
// payloads go through shared memory (shared_memory.h) automatically.
#pragma once

#include <memory>

#include "base/parallel.h"
#include "transport/transport.h"

struct uv_loop_s;

namespace motley {

// `loop` must outlive the transport and be run once more after Close, so that handles can go.
// Listen and Connect take an address of any scheme; host names are looked up. libuv writes without
// MSG_NOSIGNAL, so the caller blocks or ignores SIGPIPE on the loop's thread: otherwise a peer that
// went away would end the process. `parallel` may be null and must outlive the transport; it speeds
// up copying in a node with many peers on its machine.
std::unique_ptr<Transport> MakeStreamTransport(uv_loop_s* loop, ParallelFor* parallel = nullptr);

}  // namespace motley
