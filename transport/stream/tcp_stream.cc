// SPDX-License-Identifier: Apache-2.0
#include "transport/stream/tcp_stream.h"

#include <fmt/format.h>
#include <netdb.h>
#include <uv.h>

#include <cstring>
#include <deque>
#include <optional>
#include <utility>

#include "base/loop/loop_guard.h"
#include "transport/stream/tcp_address.h"
#include "transport/stream/tune_socket.h"
#include "transport/stream/uv_stream.h"

namespace motley {
namespace {

using NameFunction = int (*)(const uv_tcp_t*, sockaddr*, int*);

sockaddr_storage SocketName(const UvHandle& handle, NameFunction function) {
  sockaddr_storage address{};
  int length = sizeof(address);
  if (function(&handle.tcp, reinterpret_cast<sockaddr*>(&address), &length) != 0) return {};
  return address;
}

// Makes a stream of a connected socket. `address` names the peer.
std::unique_ptr<PeerStream> MakeTcpStream(UvHandlePtr handle, std::string address) {
  const bool loopback = IsLoopback(SocketName(*handle, uv_tcp_getpeername));
  TuneSocket(&handle->tcp, loopback);
  PeerIdentity peer;
  peer.host = loopback ? kThisMachine : address.substr(0, address.rfind(':'));
  peer.address = std::move(address);
  peer.same_machine = loopback;
  return std::make_unique<UvStream>(std::move(handle), std::move(peer));
}

Result<std::unique_ptr<PeerStream>> AcceptTcp(UvHandle& listener) {
  MOTLEY_ASSIGN_OR_RETURN(UvHandlePtr handle, MakeTcpHandle(listener.any.loop));
  if (const int error = uv_accept(&listener.stream, &handle->stream)) {
    return Status::Unavailable(uv_strerror(error));
  }
  const std::string address = FormatAddress(SocketName(*handle, uv_tcp_getpeername));
  return MakeTcpStream(std::move(handle), address);
}

// Only for ListenTcp: may block on a name server.
Result<sockaddr_storage> ResolveNow(uv_loop_t* loop, const HostPort& where) {
  if (const auto numeric = NumericAddress(where)) return *numeric;
  uv_getaddrinfo_t request;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  const int error = uv_getaddrinfo(loop, &request, nullptr, where.host.c_str(),
                                   std::to_string(where.port).c_str(), &hints);
  if (error != 0) return Status::Unavailable(uv_strerror(error));
  sockaddr_storage address{};
  std::memcpy(&address, request.addrinfo->ai_addr, request.addrinfo->ai_addrlen);
  uv_freeaddrinfo(request.addrinfo);
  return address;
}

Status CannotListen(const std::string& address, const std::string& reason) {
  return Status::Unavailable(
      fmt::format("cannot listen at {}: {}; choose another address or port (0 takes a free one)",
                  address, reason));
}

class TcpDialing final : public Dialing, public std::enable_shared_from_this<TcpDialing> {
 public:
  TcpDialing(const StreamOptions& options, const std::string& address, Shortcut shortcut,
             Dialed done)
      : options_(options),
        address_(address),
        shortcut_(std::move(shortcut)),
        done_(std::move(done)) {}
  void Start();

 private:
  struct Lookup {
    uv_getaddrinfo_t request;
    std::weak_ptr<TcpDialing> dialing;
  };
  struct Attempt {
    uv_connect_t request;
    std::weak_ptr<TcpDialing> dialing;
  };

  void StartLookup(const std::string& host, const std::string& port);
  void OnLookup(int status, std::deque<sockaddr_storage> found);
  void ConnectNext(Status last_error);
  int Connect(const sockaddr_storage& address);
  void OnConnected(int status);
  void FinishLater(Result<std::unique_ptr<PeerStream>> result);
  void Finish(Result<std::unique_ptr<PeerStream>> result) {
    const Dialed done = std::move(done_);
    done(std::move(result));
  }

  const StreamOptions options_;
  const std::string address_;
  const Shortcut shortcut_;
  Dialed done_;
  std::deque<sockaddr_storage> candidates_;  // Addresses left to try.
  UvHandlePtr handle_;                       // Connects to the last one taken.
};

void TcpDialing::Start() {
  const auto where = ParseHostPort(address_);
  if (!where.ok()) return FinishLater(where.status());
  if (const auto numeric = NumericAddress(*where)) {
    candidates_.push_back(*numeric);
    return ConnectNext(Status::Ok());
  }
  StartLookup(where->host, std::to_string(where->port));
}

void TcpDialing::StartLookup(const std::string& host, const std::string& port) {
  auto* lookup = new Lookup{{}, weak_from_this()};
  lookup->request.data = lookup;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  const auto on_found = [](uv_getaddrinfo_t* request, int status, addrinfo* found) {
    const std::unique_ptr<Lookup> owned(static_cast<Lookup*>(request->data));
    const std::unique_ptr<addrinfo, decltype(&uv_freeaddrinfo)> list(found, uv_freeaddrinfo);
    RunGuarded(request->loop->data, [&] {
      const auto dialing = owned->dialing.lock();
      if (dialing == nullptr) return;
      std::deque<sockaddr_storage> addresses;
      for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
        if (each->ai_addrlen > sizeof(sockaddr_storage)) continue;
        std::memcpy(&addresses.emplace_back(), each->ai_addr, each->ai_addrlen);
      }
      dialing->OnLookup(status, std::move(addresses));
    });
  };
  if (const int error = uv_getaddrinfo(options_.loop, &lookup->request, on_found, host.c_str(),
                                       port.c_str(), &hints)) {
    delete lookup;
    FinishLater(
        Status::Unavailable(fmt::format("cannot look up {}: {}", address_, uv_strerror(error))));
  }
}

void TcpDialing::OnLookup(int status, std::deque<sockaddr_storage> found) {
  if (status != 0 || found.empty()) {
    return Finish(Status::Unavailable(fmt::format(
        "cannot connect to {}: the host name is not known ({})", address_, uv_strerror(status))));
  }
  candidates_ = std::move(found);
  ConnectNext(Status::Ok());
}

void TcpDialing::ConnectNext(Status last_error) {
  while (!candidates_.empty()) {
    const sockaddr_storage address = candidates_.front();
    candidates_.pop_front();
    handle_.reset();
    if (auto stream = shortcut_ ? shortcut_(address) : nullptr) {
      return FinishLater(std::move(stream));
    }
    const int error = Connect(address);
    if (error == 0) return;
    last_error = Status::Unavailable(uv_strerror(error));
  }
  FinishLater(
      Status::Unavailable(fmt::format("cannot connect to {}: {}", address_, last_error.message())));
}

// Starts one attempt; OnConnected follows. Returns an error of libuv, or 0.
int TcpDialing::Connect(const sockaddr_storage& address) {
  auto handle = MakeTcpHandle(options_.loop);
  if (!handle.ok()) return UV_ENOMEM;
  handle_ = std::move(*handle);
  auto* attempt = new Attempt{{}, weak_from_this()};
  attempt->request.data = attempt;
  const auto on_connect = [](uv_connect_t* request, int status) {
    const std::unique_ptr<Attempt> owned(static_cast<Attempt*>(request->data));
    RunGuarded(request->handle->loop->data, [&] {
      if (const auto dialing = owned->dialing.lock()) dialing->OnConnected(status);
    });
  };
  const int error = uv_tcp_connect(&attempt->request, &handle_->tcp,
                                   reinterpret_cast<const sockaddr*>(&address), on_connect);
  if (error != 0) delete attempt;
  return error;
}

void TcpDialing::OnConnected(int status) {
  // When nobody listens at a local port, the system may choose that port for our own end, and TCP
  // then connects us to ourselves.
  if (status == 0 && SameAddress(SocketName(*handle_, uv_tcp_getpeername),
                                 SocketName(*handle_, uv_tcp_getsockname))) {
    status = UV_ECONNREFUSED;
  }
  if (status != 0) return ConnectNext(Status::Unavailable(uv_strerror(status)));
  Finish(MakeTcpStream(std::move(handle_), address_));
}

void TcpDialing::FinishLater(Result<std::unique_ptr<PeerStream>> result) {
  options_.run_later([weak = weak_from_this(), result = std::move(result)]() mutable {
    if (const auto self = weak.lock()) self->Finish(std::move(result));
  });
}

}  // namespace

Result<std::unique_ptr<Listener>> ListenTcp(const StreamOptions& options,
                                            const std::string& address,
                                            Listener::Handler& handler) {
  MOTLEY_ASSIGN_OR_RETURN(const HostPort where, ParseHostPort(address));
  const auto fail = [&](int error) {
    if (error != UV_EMFILE && error != UV_ENFILE) return CannotListen(address, uv_strerror(error));
    return Status::Resource(
        fmt::format("cannot listen at {}: {}; raise the limit of open files (ulimit -n)", address,
                    uv_strerror(error)));
  };
  const auto resolved = ResolveNow(options.loop, where);
  if (!resolved.ok()) return CannotListen(address, resolved.status().message());
  auto handle = MakeTcpHandle(options.loop);
  if (!handle.ok()) return CannotListen(address, handle.status().message());
  const auto* name = reinterpret_cast<const sockaddr*>(&*resolved);
  if (const int error = uv_tcp_bind(&(*handle)->tcp, name, 0)) return fail(error);
  const std::string bound = FormatAddress(SocketName(**handle, uv_tcp_getsockname));
  auto listener = std::make_unique<UvListener>(std::move(*handle), bound, handler, AcceptTcp);
  if (const int error = listener->Start()) return fail(error);
  return std::unique_ptr<Listener>(std::move(listener));
}

std::shared_ptr<Dialing> DialTcp(const StreamOptions& options, const std::string& address,
                                 Shortcut shortcut, Dialed done) {
  auto dialing =
      std::make_shared<TcpDialing>(options, address, std::move(shortcut), std::move(done));
  dialing->Start();
  return dialing;
}

}  // namespace motley
