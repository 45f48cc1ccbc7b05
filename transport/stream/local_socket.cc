// SPDX-License-Identifier: Apache-2.0
#include "transport/stream/local_socket.h"

#include <netinet/in.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "base/assert.h"
#include "transport/stream/tcp_address.h"

namespace motley {
namespace {

struct Name {
  sockaddr_un address{};
  socklen_t length = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

Name NameOf(const std::string& name) {
  MOTLEY_ASSERT(name.size() <= kMaxLocalName);
  const std::string text = "motley " + name;
  Name result;
  result.address.sun_family = AF_UNIX;
  // The zero byte before the name puts it into the abstract namespace.
  std::memcpy(result.address.sun_path + 1, text.data(), text.size());
  result.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  return result;
}

// A socket on which `connect_or_bind` succeeded.
template <typename Use>
Result<int> OpenSocket(const std::string& name, Use connect_or_bind) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return Status::Unavailable(uv_strerror(uv_translate_sys_error(errno)));
  const Name place = NameOf(name);
  if (connect_or_bind(fd, place.get(), place.length) == 0) return fd;
  const Status failed = Status::Unavailable(uv_strerror(uv_translate_sys_error(errno)));
  close(fd);
  return failed;
}

}  // namespace

std::optional<std::string> NameBeside(sockaddr_storage address) {
  // A process that listens at all of the machine's addresses is found at the loopback address.
  if (address.ss_family == AF_INET) {
    auto& v4 = reinterpret_cast<sockaddr_in&>(address).sin_addr;
    if (v4.s_addr == htonl(INADDR_ANY)) v4.s_addr = htonl(INADDR_LOOPBACK);
  }
  if (!IsLoopback(address)) return std::nullopt;
  return FormatAddress(address);
}

Result<int> BindLocally(const std::string& name) { return OpenSocket(name, bind); }

Result<int> ConnectLocally(const std::string& name) {
  MOTLEY_ASSIGN_OR_RETURN(const int fd, OpenSocket(name, connect));
  if (IsOwnUser(fd)) return fd;
  close(fd);
  return Status::Unavailable("it belongs to another user");
}

std::optional<LocalPeer> PeerOf(int socket) {
  ucred peer{};
  socklen_t length = sizeof(peer);
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return std::nullopt;
  return LocalPeer{peer.uid, peer.pid};
}

bool IsOwnUser(int socket) {
  const std::optional<LocalPeer> peer = PeerOf(socket);
  return peer && peer->user == geteuid();
}

}  // namespace motley
