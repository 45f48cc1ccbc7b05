// SPDX-License-Identifier: Apache-2.0
// The socket options of TCP streams.
#pragma once

struct uv_tcp_s;

namespace motley {

// Sets the options of a connected socket. An option that the system does not know keeps its
// default.
void TuneSocket(uv_tcp_s* handle, bool loopback);

}  // namespace motley
