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

// Names of users differ from those beside TCP listeners, which begin with an address.
constexpr const char* kChosen = "unix://";
constexpr size_t kMaxChosen = 64;

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

// Makes a handle that owns the socket, or closes it.
Result<UvHandlePtr> Take(uv_loop_s* loop, bool passes_files, int socket) {
  auto handle = MakePipeHandle(loop, passes_files, socket);
  if (!handle.ok()) close(socket);
  return handle;
}

Result<std::unique_ptr<Listener>> Listen(uv_loop_s* loop, const std::string& name,
                                         const std::string& address, Listener::Handler& handler) {
  MOTLEY_ASSIGN_OR_RETURN(const int fd, BindLocally(name));
  MOTLEY_ASSIGN_OR_RETURN(UvHandlePtr handle, Take(loop, false, fd));
  auto listener = std::make_unique<UvListener>(std::move(handle), address, handler, AcceptUnix);
  if (const int error = listener->Start()) return Status::Unavailable(uv_strerror(error));
  return std::unique_ptr<Listener>(std::move(listener));
}

Result<std::unique_ptr<PeerStream>> Connect(uv_loop_s* loop, const std::string& name,
                                            const std::string& address) {
  MOTLEY_ASSIGN_OR_RETURN(const int fd, ConnectLocally(name));
  MOTLEY_ASSIGN_OR_RETURN(UvHandlePtr handle, Take(loop, true, fd));
  return MakeUnixStream(std::move(handle), address);
}

}  // namespace

Status CheckUnixName(const std::string& name) {
  const bool fits = !name.empty() && name.size() <= kMaxChosen;
  if (fits && name.find('\0') == std::string::npos) return Status::Ok();
  return Status::InvalidArgument(
      fmt::format("\"unix://{}\" is not an address: a name has 1 to {} bytes, none of them zero; "
                  "write unix://NAME, like unix://digits",
                  name.substr(0, kMaxChosen), kMaxChosen));
}

Result<std::unique_ptr<Listener>> ListenUnix(const StreamOptions& options, const std::string& name,
                                             Listener::Handler& handler) {
  const std::string address = kChosen + name;
  auto listener = Listen(options.loop, address, address, handler);
  if (listener.ok()) return listener;
  return Status::Unavailable(fmt::format("cannot listen at {}: {}; choose another name", address,
                                         listener.status().message()));
}

std::shared_ptr<Dialing> DialUnix(const StreamOptions& options, const std::string& name,
                                  Dialed done) {
  const auto dialing = std::make_shared<Dialing>();
  options.run_later([weak = std::weak_ptr(dialing), loop = options.loop, address = kChosen + name,
                     done = std::move(done)] {
    if (weak.expired()) return;
    auto stream = Connect(loop, address, address);
    if (stream.ok()) return done(std::move(stream));
    done(Status::Unavailable(
        fmt::format("cannot connect to {}: {}", address, stream.status().message())));
  });
  return dialing;
}

std::unique_ptr<Listener> ListenBeside(uv_loop_s* loop, const sockaddr_storage& address,
                                       Listener::Handler& handler) {
  const std::optional<std::string> name = NameBeside(address);
  if (!name) return nullptr;
  auto listener = Listen(loop, *name, *name, handler);
  return listener.ok() ? std::move(*listener) : nullptr;
}

std::unique_ptr<PeerStream> ConnectBeside(uv_loop_s* loop, const sockaddr_storage& address,
                                          const std::string& name) {
  const std::optional<std::string> beside = NameBeside(address);
  if (!beside) return nullptr;
  auto stream = Connect(loop, *beside, name);
  return stream.ok() ? std::move(*stream) : nullptr;
}

}  // namespace motley
