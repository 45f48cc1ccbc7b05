// SPDX-License-Identifier: Apache-2.0
// What this program asks of the TCP of its connections.
#pragma once

struct uv_tcp_s;

namespace motley {

// Sets the options of a connected socket. Those that the system does not know keep their defaults.
void TuneSocket(uv_tcp_s* handle, bool loopback);

}  // namespace motley
