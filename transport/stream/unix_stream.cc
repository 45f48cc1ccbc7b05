// SPDX-License-Identifier: Apache-2.0
#include "transport/stream/unix_stream.h"

#include <fmt/format.h>
#include <unistd.h>
#include <uv.h>

#include <optional>
#include <utility>

#include "transport/stream/local_socket.h"
#include "transport/stream/tcp_address.h"
#include "transport/stream/uv_stream.h"

namespace motley {
namespace {

// `name` is the peer's address for messages; empty: what the kernel says.
std::unique_ptr<PeerStream> MakeUnixStream(UvHandlePtr handle, const std::string& name) {
  PeerIdentity peer{.address = name, .host = kThisMachine, .same_machine = true};
  if (const auto known = PeerOf(DescriptorOf(*handle))) {
    peer.user = known->user;
    if (known->process > 0) peer.process = known->process;
  }
  if (name.empty()) {
    peer.address = peer.process ? fmt::format("process {}", *peer.process) : "a local process";
  }
  return std::make_unique<UvStream>(std::move(handle), std::move(peer));
}

Result<std::unique_ptr<PeerStream>> AcceptUnix(UvHandle& listener) {
  MOTLEY_ASSIGN_OR_RETURN(UvHandlePtr handle, MakePipeHandle(listener.any.loop, true));
  if (const int error = uv_accept(&listener.stream, &handle->stream)) {
    return Status::Unavailable(uv_strerror(error));
  }
  if (!IsOwnUser(DescriptorOf(*handle))) return Status::Permission("it belongs to another user");
  return MakeUnixStream(std::move(handle), "");
}

}  // namespace

std::unique_ptr<Listener> ListenBeside(uv_loop_s* loop, const sockaddr_storage& address,
                                       Listener::Handler& handler) {
  const std::optional<int> fd = BindLocally(address);
  if (!fd) return nullptr;
  auto handle = MakePipeHandle(loop, false, *fd);
  if (!handle.ok()) {
    close(*fd);
    return nullptr;
  }
  auto listener =
      std::make_unique<UvListener>(std::move(*handle), FormatAddress(address), handler, AcceptUnix);
  if (listener->Start() != 0) return nullptr;
  return listener;
}

std::unique_ptr<PeerStream> ConnectBeside(uv_loop_s* loop, const sockaddr_storage& address,
                                          const std::string& name) {
  const std::optional<int> fd = ConnectLocally(address);
  if (!fd) return nullptr;
  auto handle = MakePipeHandle(loop, true, *fd);
  if (handle.ok()) return MakeUnixStream(std::move(*handle), name);
  close(*fd);
  return nullptr;
}

}  // namespace motley
