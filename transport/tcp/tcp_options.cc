// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp/tcp_options.h"

#include <netinet/tcp.h>
#include <sys/socket.h>
#include <uv.h>

namespace motley {
namespace {

// A machine that lost its power says nothing. The kernel asks for it after this many idle seconds,
// or waits for bytes to be acknowledged, and gives it up after a minute. Nodes notice silence
// sooner (runtime/links/heartbeat.h).
constexpr unsigned kKeepAliveSeconds = 30;
constexpr int kKeepAliveInterval = 10;  // Seconds between questions.
constexpr int kKeepAliveProbes = 3;     // Without an answer.
// What the kernel takes beyond what is on its way to the peer. Its buffers grow to megabytes, and
// on a slow link a control message waited for seconds behind parameters that nobody wanted.
constexpr int kMostUnsentBytes = 128 << 10;

template <typename Value>
void SetTcpOption(uv_os_fd_t fd, int option, Value value) {
  (void)setsockopt(fd, IPPROTO_TCP, option, &value, sizeof(value));
}

}  // namespace

// Loopback is slow and unstable with BBR, which some systems have as their default.
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
  // Where it is not compiled in, the default stays.
  (void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, kCubic, sizeof(kCubic) - 1);
}

}  // namespace motley
