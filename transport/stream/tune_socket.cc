// SPDX-License-Identifier: Apache-2.0
#include "transport/stream/tune_socket.h"

#include <netinet/tcp.h>
#include <sys/socket.h>
#include <uv.h>

namespace motley {
namespace {

// A machine that lost power sends no goodbye. After this many idle seconds the kernel probes the
// peer, and after a minute without an acknowledgement it drops the connection. Nodes notice silence
// sooner (runtime/links/heartbeat.h).
constexpr unsigned kKeepAliveSeconds = 30;
constexpr int kKeepAliveInterval = 10;  // Seconds between probes.
constexpr int kKeepAliveProbes = 3;     // Unanswered probes before the peer counts as gone.
// The most unsent bytes that the kernel takes. Its buffers grow to megabytes, and on a slow link a
// control message would wait for seconds behind parameters that were no longer needed.
constexpr int kMostUnsentBytes = 128 << 10;

template <typename Value>
void SetTcpOption(uv_os_fd_t fd, int option, Value value) {
  (void)setsockopt(fd, IPPROTO_TCP, option, &value, sizeof(value));
}

}  // namespace

// Loopback connections use cubic: with BBR, the default of some systems, they are slow and
// unstable.
void TuneSocket(uv_tcp_t* handle, bool loopback) {
  uv_tcp_nodelay(handle, 1);
  uv_tcp_keepalive(handle, 1, kKeepAliveSeconds);
  uv_os_fd_t fd = -1;
  if (uv_fileno(reinterpret_cast<uv_handle_t*>(handle), &fd) != 0) return;
  SetTcpOption(fd, TCP_USER_TIMEOUT, 60'000U);  // Milliseconds.
  SetTcpOption(fd, TCP_KEEPINTVL, kKeepAliveInterval);
  SetTcpOption(fd, TCP_KEEPCNT, kKeepAliveProbes);
  SetTcpOption(fd, TCP_NOTSENT_LOWAT, kMostUnsentBytes);
  if (!loopback) return;
  constexpr char kCubic[] = "cubic";
  // A system without cubic keeps its default.
  (void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, kCubic, sizeof(kCubic) - 1);
}

}  // namespace motley
