// SPDX-License-Identifier: Apache-2.0
#include "transport/stream/local_socket.h"

#include <netinet/in.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

#include "transport/stream/tcp_address.h"

namespace motley {
namespace {

struct Name {
  sockaddr_un address{};
  socklen_t length = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

// A process that listens at all of the machine's addresses is found at the loopback address.
std::optional<Name> NameOf(sockaddr_storage address) {
  if (address.ss_family == AF_INET) {
    auto& v4 = reinterpret_cast<sockaddr_in&>(address).sin_addr;
    if (v4.s_addr == htonl(INADDR_ANY)) v4.s_addr = htonl(INADDR_LOOPBACK);
  }
  if (!IsLoopback(address)) return std::nullopt;
  const std::string text = "motley " + FormatAddress(address);
  Name name;
  name.address.sun_family = AF_UNIX;
  // The zero byte before the name puts it into the abstract namespace.
  std::memcpy(name.address.sun_path + 1, text.data(), text.size());
  name.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  return name;
}

}  // namespace

std::optional<int> BindLocally(const sockaddr_storage& address) {
  const std::optional<Name> name = NameOf(address);
  if (!name) return std::nullopt;
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return std::nullopt;
  if (bind(fd, name->get(), name->length) == 0) return fd;
  close(fd);
  return std::nullopt;
}

std::optional<int> ConnectLocally(const sockaddr_storage& address) {
  const std::optional<Name> name = NameOf(address);
  if (!name) return std::nullopt;
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return std::nullopt;
  if (connect(fd, name->get(), name->length) == 0 && IsOwnUser(fd)) return fd;
  close(fd);
  return std::nullopt;
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
