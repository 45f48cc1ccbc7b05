// SPDX-License-Identifier: Apache-2.0
// What this program asks of the TCP of its connections.
#pragma once

struct uv_tcp_s;

namespace motley {

// Of a connected socket. Where the system does not know an option, its default stays.
void TuneSocket(uv_tcp_s* handle, bool loopback);

}  // namespace motley
