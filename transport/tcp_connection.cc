// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp_connection.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <uv.h>

#include <array>
#include <cstring>
#include <utility>

#include "base/assert.h"
#include "transport/tcp_address.h"

namespace motley {
namespace {

// Messages are handed to libuv until this much payload is on its way; the rest stays here, where
// control can overtake it and Cancel can reach it. Above one slice more would buy nothing: the
// kernel buffers beyond that.
constexpr size_t kWindowBytes = 1u << 20;
// A machine that lost its power says nothing: after this many idle seconds the kernel asks whether
// the peer's is still there, and again, and after a minute in all the connection is lost.
constexpr unsigned kKeepAliveSeconds = 30;
constexpr int kKeepAliveInterval = 10;  // Seconds between questions.
constexpr int kKeepAliveProbes = 3;     // Without an answer.

template <typename Value>
void SetTcpOption(uv_os_fd_t fd, int option, Value value) {
  // Where the system knows no such option, its default stays.
  (void)setsockopt(fd, IPPROTO_TCP, option, &value, sizeof(value));
}

// Loopback is slow and unstable with BBR, which some systems have as their default.
void TuneSocket(uv_tcp_t* handle, const sockaddr_storage& peer) {
  uv_tcp_nodelay(handle, 1);
  uv_tcp_keepalive(handle, 1, kKeepAliveSeconds);
  uv_os_fd_t fd = -1;
  if (uv_fileno(reinterpret_cast<uv_handle_t*>(handle), &fd) != 0) return;
  SetTcpOption(fd, TCP_KEEPINTVL, kKeepAliveInterval);
  SetTcpOption(fd, TCP_KEEPCNT, kKeepAliveProbes);
  if (!IsLoopback(peer)) return;
  constexpr char kCubic[] = "cubic";
  // Where it is not compiled in, the default stays.
  (void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, kCubic, sizeof(kCubic) - 1);
}

using NameFunction = int (*)(const uv_tcp_t*, sockaddr*, int*);

sockaddr_storage SocketName(const uv_tcp_t* handle, NameFunction function) {
  sockaddr_storage address{};
  int length = sizeof(address);
  if (function(handle, reinterpret_cast<sockaddr*>(&address), &length) != 0) return {};
  return address;
}

uv_stream_t* AsStream(uv_tcp_t* handle) { return reinterpret_cast<uv_stream_t*>(handle); }

}  // namespace

// Owns what libuv reads until the write is over, save the pieces, which stay the sender's.
struct TcpConnection::WriteRequest {
  uv_write_t request;
  std::array<std::byte, kHeaderSize> header;
};

struct TcpConnection::Lookup {
  uv_getaddrinfo_t request;
  std::weak_ptr<TcpConnection> connection;
};

template <typename Function>
void TcpConnection::With(void* data, Function function) {
  if (data == nullptr) return;
  const auto keep = static_cast<TcpConnection*>(data)->shared_from_this();
  function(*keep);
}

TcpConnection::TcpConnection(uv_loop_s* loop, PeerId peer, Owner& owner)
    : loop_(loop), peer_(peer), owner_(&owner) {}

TcpConnection::~TcpConnection() { CloseHandle(); }

Status TcpConnection::OpenHandle() {
  handle_ = new uv_tcp_t;
  handle_->data = this;
  if (const int error = uv_tcp_init(loop_, handle_)) {
    delete std::exchange(handle_, nullptr);
    return Status::Unavailable(uv_strerror(error));
  }
  return Status::Ok();
}

void TcpConnection::CloseHandle() {
  if (handle_ == nullptr) return;
  handle_->data = nullptr;
  uv_close(reinterpret_cast<uv_handle_t*>(std::exchange(handle_, nullptr)),
           [](uv_handle_t* handle) { delete reinterpret_cast<uv_tcp_t*>(handle); });
}

Status TcpConnection::Accept(uv_stream_s* listener) {
  MOTLEY_RETURN_IF_ERROR(OpenHandle());
  accepted_ = true;
  if (const int error = uv_accept(listener, AsStream(handle_))) {
    return Status::Unavailable(uv_strerror(error));
  }
  name_ = FormatAddress(SocketName(handle_, uv_tcp_getpeername));
  return Status::Ok();
}

void TcpConnection::Connect(const std::string& address) {
  name_ = address;
  const auto where = ParseHostPort(address);
  if (!where.ok()) return FailLater(where.status());
  if (const auto numeric = NumericAddress(where.value())) {
    candidates_.push_back(*numeric);
    return ConnectNext(Status::Ok());
  }
  StartLookup(where.value().host, std::to_string(where.value().port));
}

void TcpConnection::StartLookup(const std::string& host, const std::string& port) {
  auto* lookup = new Lookup{{}, weak_from_this()};
  lookup->request.data = lookup;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  const auto on_found = [](uv_getaddrinfo_t* request, int status, addrinfo* found) {
    const std::unique_ptr<Lookup> owned(static_cast<Lookup*>(request->data));
    std::deque<sockaddr_storage> addresses;
    for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
      if (each->ai_addrlen > sizeof(sockaddr_storage)) continue;
      std::memcpy(&addresses.emplace_back(), each->ai_addr, each->ai_addrlen);
    }
    uv_freeaddrinfo(found);
    if (const auto connection = owned->connection.lock()) {
      connection->OnLookup(status, std::move(addresses));
    }
  };
  if (const int error =
          uv_getaddrinfo(loop_, &lookup->request, on_found, host.c_str(), port.c_str(), &hints)) {
    delete lookup;
    FailLater(Status::Unavailable(fmt::format("cannot look up {}: {}", name_, uv_strerror(error))));
  }
}

void TcpConnection::OnLookup(int status, std::deque<sockaddr_storage> found) {
  if (owner_ == nullptr) return;
  if (status != 0 || found.empty()) {
    return Fail(Status::Unavailable(fmt::format(
        "cannot connect to {}: its host name is not known ({})", name_, uv_strerror(status))));
  }
  candidates_ = std::move(found);
  ConnectNext(Status::Ok());
}

void TcpConnection::ConnectNext(Status last_error) {
  while (!candidates_.empty()) {
    const sockaddr_storage address = candidates_.front();
    candidates_.pop_front();
    CloseHandle();
    last_error = OpenHandle();
    if (!last_error.ok()) continue;
    auto* request = new uv_connect_t;
    const auto on_connect = [](uv_connect_t* raw, int status) {
      const std::unique_ptr<uv_connect_t> owned(raw);
      With(owned->handle->data, [&](TcpConnection& self) { self.OnConnect(status); });
    };
    const int error =
        uv_tcp_connect(request, handle_, reinterpret_cast<const sockaddr*>(&address), on_connect);
    if (error == 0) return;
    delete request;
    last_error = Status::Unavailable(uv_strerror(error));
  }
  FailLater(
      Status::Unavailable(fmt::format("cannot connect to {}: {}", name_, last_error.message())));
}

void TcpConnection::OnConnect(int status) {
  // A port of this machine that nobody listens at can be picked for our own end, and TCP then
  // connects us to ourselves.
  if (status == 0 && SameAddress(SocketName(handle_, uv_tcp_getpeername),
                                 SocketName(handle_, uv_tcp_getsockname))) {
    status = UV_ECONNREFUSED;
  }
  if (status != 0) return ConnectNext(Status::Unavailable(uv_strerror(status)));
  Start();
}

void TcpConnection::Start() {
  candidates_.clear();
  TuneSocket(handle_, SocketName(handle_, uv_tcp_getpeername));
  const int error = uv_read_start(
      AsStream(handle_),
      [](uv_handle_t* handle, size_t, uv_buf_t* buffer) {
        *buffer = uv_buf_init(nullptr, 0);
        With(handle->data, [&](TcpConnection& self) {
          const std::span<std::byte> room = self.reader_.Room();
          *buffer =
              uv_buf_init(reinterpret_cast<char*>(room.data()), static_cast<unsigned>(room.size()));
        });
      },
      [](uv_stream_t* stream, ssize_t count, const uv_buf_t*) {
        With(stream->data, [&](TcpConnection& self) { self.OnRead(count); });
      });
  if (error != 0) return FailLater(Status::Unavailable(uv_strerror(error)));
  up_ = true;
  if (Receiver* receiver = owner_->receiver()) receiver->OnConnected(peer_);
  Pump();
}

void TcpConnection::OnRead(ptrdiff_t count) {
  if (owner_ == nullptr || count == 0) return;
  if (count == UV_EOF) {
    return Fail(Status::Unavailable(fmt::format("{} closed the connection{}", name_,
                                                reader_.AtBoundary() ? "" : " inside a message")));
  }
  if (count < 0) {
    return Fail(Status::Unavailable(fmt::format("the connection to {} broke: {}", name_,
                                                uv_strerror(static_cast<int>(count)))));
  }
  const Status status = reader_.Advance(static_cast<size_t>(count));
  if (!status.ok()) Fail(status.WithContext(fmt::format("dropped the connection to {}", name_)));
}

std::span<std::byte> TcpConnection::OnPayload(const Header& header) {
  Receiver* receiver = owner_->receiver();
  return receiver != nullptr ? receiver->OnPayload(peer_, header) : std::span<std::byte>();
}

void TcpConnection::OnPayloadDone(const Header& header, bool discarded) {
  if (Receiver* receiver = owner_->receiver()) receiver->OnPayloadDone(peer_, header, discarded);
}

void TcpConnection::Send(Outgoing message) {
  queue_.Push(std::move(message));
  Pump();
}

void TcpConnection::Pump() {
  while (owner_ != nullptr && up_ && !broken_ && in_flight_payload_ < kWindowBytes) {
    auto message = queue_.Pop();
    if (!message) return;
    Write(std::move(*message));
  }
}

void TcpConnection::Write(Outgoing message) {
  Checksum checksum;
  std::vector<uv_buf_t> buffers;
  buffers.reserve(message.pieces.size() + 1);
  buffers.emplace_back();
  for (BytesView piece : message.pieces) {
    if (piece.empty()) continue;
    checksum.Add(piece);
    auto* data = reinterpret_cast<char*>(const_cast<std::byte*>(piece.data()));
    buffers.push_back(uv_buf_init(data, static_cast<unsigned>(piece.size())));
  }
  auto* write = new WriteRequest;
  write->header = EncodeHeader(message.header, checksum.Value());
  write->request.data = write;
  buffers[0] = uv_buf_init(reinterpret_cast<char*>(write->header.data()), kHeaderSize);
  in_flight_payload_ += message.header.length;
  in_flight_.push_back(std::move(message));
  const auto on_written = [](uv_write_t* request, int status) {
    const std::unique_ptr<WriteRequest> owned(static_cast<WriteRequest*>(request->data));
    With(request->handle->data, [&](TcpConnection& self) { self.OnWritten(status); });
  };
  if (const int error = uv_write(&write->request, AsStream(handle_), buffers.data(),
                                 static_cast<unsigned>(buffers.size()), on_written)) {
    delete write;
    broken_ = true;
    FailLater(Status::Unavailable(
        fmt::format("the connection to {} broke: {}", name_, uv_strerror(error))));
  }
}

void TcpConnection::OnWritten(int status) {
  if (status == UV_EPIPE || status == UV_ECONNRESET) {
    // What the peer said last may still wait to be read; the end that follows it is our loss.
    broken_ = true;
    return;
  }
  if (status != 0) {
    return Fail(Status::Unavailable(
        fmt::format("the connection to {} broke: {}", name_, uv_strerror(status))));
  }
  const Outgoing message = std::move(in_flight_.front());
  in_flight_.pop_front();
  in_flight_payload_ -= message.header.length;
  Pump();
  message.done(Status::Ok());
}

void TcpConnection::FailLater(Status why) {
  owner_->RunLater([weak = weak_from_this(), why = std::move(why)] {
    if (const auto self = weak.lock()) self->Fail(why);
  });
}

void TcpConnection::Fail(const Status& why) {
  if (owner_ != nullptr) owner_->OnConnectionLost(*this, why);
}

std::vector<Outgoing> TcpConnection::Close() {
  owner_ = nullptr;
  up_ = false;
  reader_.Stop();
  CloseHandle();
  std::vector<Outgoing> pending;
  for (Outgoing& message : in_flight_) pending.push_back(std::move(message));
  in_flight_.clear();
  in_flight_payload_ = 0;
  for (Outgoing& message : queue_.TakeAll()) pending.push_back(std::move(message));
  return pending;
}

}  // namespace motley
