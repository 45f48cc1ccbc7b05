// SPDX-License-Identifier: Apache-2.0
#include "transport/channel/tcp_connection.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <unistd.h>
#include <uv.h>

#include <array>
#include <cstring>
#include <utility>

#include "base/assert.h"
#include "base/loop/loop_guard.h"
#include "transport/stream/local_socket.h"
#include "transport/stream/tcp_address.h"
#include "transport/stream/tcp_options.h"

namespace motley {
namespace {

// libuv gets messages until this much payload is on its way. The rest stays in the send queue,
// where control can overtake it and Cancel can reach it. A larger window gains nothing: the kernel
// has buffers of its own.
constexpr size_t kWindowBytes = 1u << 20;

using NameFunction = int (*)(const uv_tcp_t*, sockaddr*, int*);

sockaddr_storage SocketName(const uv_tcp_t* handle, NameFunction function) {
  sockaddr_storage address{};
  int length = sizeof(address);
  if (function(handle, reinterpret_cast<sockaddr*>(&address), &length) != 0) return {};
  return address;
}

int DescriptorOf(const uv_stream_t* stream) {
  uv_os_fd_t fd = -1;
  return uv_fileno(reinterpret_cast<const uv_handle_t*>(stream), &fd) == 0 ? fd : -1;
}

}  // namespace

union TcpConnection::Handle {
  uv_handle_t handle;
  uv_stream_t stream;
  uv_tcp_t tcp;
  uv_pipe_t pipe;
};

// Owns the memory that libuv reads until the write is over, except the pieces, which belong to the
// sender.
struct TcpConnection::WriteRequest {
  uv_write_t request;
  bool message = false;  // False: only a report for the other transport.
  size_t header_bytes = 0;
  std::array<std::byte, 2 * kHeaderSize> headers;  // A report comes first.

  void Add(const DecodedHeader& frame) {
    const auto bytes = EncodeHeader(frame);
    std::copy(bytes.begin(), bytes.end(), headers.begin() + header_bytes);
    header_bytes += kHeaderSize;
  }
  uv_buf_t buffer() {
    return uv_buf_init(reinterpret_cast<char*>(headers.data()),
                       static_cast<unsigned>(header_bytes));
  }
};

struct TcpConnection::Lookup {
  uv_getaddrinfo_t request;
  std::weak_ptr<TcpConnection> connection;
};

template <typename Function>
void TcpConnection::With(void* data, Function function) {
  if (data == nullptr) return;
  const auto keep = static_cast<TcpConnection*>(data)->shared_from_this();
  RunGuarded(keep->loop_->data, [&] { function(*keep); });
}

TcpConnection::TcpConnection(uv_loop_s* loop, PeerId peer, Owner& owner)
    : loop_(loop), peer_(peer), owner_(&owner) {}

TcpConnection::~TcpConnection() { CloseHandle(); }

uv_stream_s* TcpConnection::stream() const { return &handle_->stream; }

int TcpConnection::descriptor() const { return handle_ != nullptr ? DescriptorOf(stream()) : -1; }

Status TcpConnection::OpenHandle(bool local) {
  handle_ = new Handle;
  handle_->handle.data = this;
  const int error =
      local ? uv_pipe_init(loop_, &handle_->pipe, 1) : uv_tcp_init(loop_, &handle_->tcp);
  if (error != 0) {
    delete std::exchange(handle_, nullptr);
    return Status::Unavailable(uv_strerror(error));
  }
  if (local) shared_ = std::make_unique<SharedLink>(owner_->arena());
  return Status::Ok();
}

void TcpConnection::CloseHandle() {
  if (handle_ == nullptr) return;
  handle_->handle.data = nullptr;
  uv_close(&std::exchange(handle_, nullptr)->handle,
           [](uv_handle_t* handle) { delete reinterpret_cast<Handle*>(handle); });
}

Status TcpConnection::Accept(uv_stream_s* listener) {
  const bool local = listener->type == UV_NAMED_PIPE;
  MOTLEY_RETURN_IF_ERROR(OpenHandle(local));
  accepted_ = true;
  if (const int error = uv_accept(listener, stream())) {
    return Status::Unavailable(uv_strerror(error));
  }
  if (!local) {
    name_ = FormatAddress(SocketName(&handle_->tcp, uv_tcp_getpeername));
    return Status::Ok();
  }
  const int fd = DescriptorOf(stream());
  name_ = DescribePeer(fd);
  return IsOwnUser(fd) ? Status::Ok() : Status::Permission("it belongs to another user");
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
    const std::unique_ptr<addrinfo, decltype(&uv_freeaddrinfo)> list(found, uv_freeaddrinfo);
    RunGuarded(request->loop->data, [&] {
      std::deque<sockaddr_storage> addresses;
      for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
        if (each->ai_addrlen > sizeof(sockaddr_storage)) continue;
        std::memcpy(&addresses.emplace_back(), each->ai_addr, each->ai_addrlen);
      }
      if (const auto connection = owned->connection.lock()) {
        connection->OnLookup(status, std::move(addresses));
      }
    });
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
        "cannot connect to {}: the host name is not known ({})", name_, uv_strerror(status))));
  }
  candidates_ = std::move(found);
  ConnectNext(Status::Ok());
}

void TcpConnection::ConnectNext(Status last_error) {
  while (!candidates_.empty()) {
    const sockaddr_storage address = candidates_.front();
    candidates_.pop_front();
    CloseHandle();
    if (ConnectNearby(address)) return;
    last_error = OpenHandle(false);
    if (!last_error.ok()) continue;
    auto* request = new uv_connect_t;
    const auto on_connect = [](uv_connect_t* raw, int status) {
      const std::unique_ptr<uv_connect_t> owned(raw);
      With(owned->handle->data, [&](TcpConnection& self) { self.OnConnect(status); });
    };
    const int error = uv_tcp_connect(request, &handle_->tcp,
                                     reinterpret_cast<const sockaddr*>(&address), on_connect);
    if (error == 0) return;
    delete request;
    last_error = Status::Unavailable(uv_strerror(error));
  }
  FailLater(
      Status::Unavailable(fmt::format("cannot connect to {}: {}", name_, last_error.message())));
}

// Connects to the Unix socket that a process of this machine may have beside its TCP one.
bool TcpConnection::ConnectNearby(const sockaddr_storage& address) {
  const std::optional<int> fd = owner_->local() ? ConnectLocally(address) : std::nullopt;
  if (!fd) return false;
  if (OpenHandle(true).ok() && uv_pipe_open(&handle_->pipe, *fd) == 0) {
    owner_->RunLater([weak = weak_from_this()] {
      const auto self = weak.lock();
      if (self && self->owner_ != nullptr) self->Start();
    });
    return true;
  }
  close(*fd);
  CloseHandle();
  shared_.reset();
  return false;
}

void TcpConnection::OnConnect(int status) {
  // When nobody listens at a local port, the system may choose that port for our own end, and TCP
  // then connects us to ourselves.
  if (status == 0 && SameAddress(SocketName(&handle_->tcp, uv_tcp_getpeername),
                                 SocketName(&handle_->tcp, uv_tcp_getsockname))) {
    status = UV_ECONNREFUSED;
  }
  if (status != 0) return ConnectNext(Status::Unavailable(uv_strerror(status)));
  Start();
}

void TcpConnection::Start() {
  candidates_.clear();
  if (!shared_) {
    const sockaddr_storage other = SocketName(&handle_->tcp, uv_tcp_getpeername);
    loopback_ = IsLoopback(other);
    TuneSocket(&handle_->tcp, loopback_);
  }
  const int error = uv_read_start(
      stream(),
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
  received_bytes_ += static_cast<uint64_t>(count);
  const Status status = reader_.Advance(static_cast<size_t>(count));
  if (status.ok() && shared_ && uv_pipe_pending_count(&handle_->pipe) > 0) {
    return Fail(Status::DataError(fmt::format("{} sent unexpected file descriptors", name_)));
  }
  if (status.code() == StatusCode::kConflict) {
    // A peer of another release understands the version in this header, and reports it.
    Write({0, Header(), {}, Priority::kControl, [](const Status&) {}});
  }
  if (!status.ok()) Fail(status.WithContext(fmt::format("dropped the connection to {}", name_)));
}

std::span<std::byte> TcpConnection::OnPayload(const Header& header) {
  Receiver* receiver = owner_->receiver();
  return receiver != nullptr ? receiver->OnPayload(peer_, header) : std::span<std::byte>();
}

void TcpConnection::OnPayloadDone(const Header& header, bool discarded) {
  if (Receiver* receiver = owner_->receiver()) receiver->OnPayloadDone(peer_, header, discarded);
}

Result<BytesView> TcpConnection::OnShared(const SharedPlace& place, size_t length) {
  if (!shared_) return BytesView();
  if (shared_->NeedsView()) TakeView();
  // The kernel drops a descriptor when this process has no free one; the next may arrive.
  if (shared_->NeedsView()) {
    return Status::DataError(
        "its shared memory did not arrive. If this process is out of file descriptors, raise the "
        "limit (ulimit -n), or connect by tcp://");
  }
  return shared_->At(place, length);
}

// The descriptor came with the first header that needs it.
void TcpConnection::TakeView() {
  if (uv_pipe_pending_count(&handle_->pipe) == 0) return;
  auto* received = new uv_pipe_t;
  uv_pipe_init(loop_, received, 0);
  if (uv_accept(stream(), reinterpret_cast<uv_stream_t*>(received)) == 0) {
    const int fd =
        fcntl(DescriptorOf(reinterpret_cast<uv_stream_t*>(received)), F_DUPFD_CLOEXEC, 0);
    if (fd >= 0) shared_->SetView(SharedView::Map(fd));
  }
  uv_close(reinterpret_cast<uv_handle_t*>(received),
           [](uv_handle_t* handle) { delete reinterpret_cast<uv_pipe_t*>(handle); });
}

void TcpConnection::CopyShared(BytesView from, std::byte* to) {
  CopyBytes(owner_->parallel(), from, to);
}

bool TcpConnection::OnSharedRead(const SharedPlace& place, size_t length) {
  const bool held = shared_->OnRead(place, length);
  if (shared_->MustReport() && !broken_) ReportRead();
  return held;
}

void TcpConnection::ReportRead() {
  const std::optional<uint64_t> read = shared_->TakeReport();
  if (!read) return;
  auto* write = new WriteRequest;
  write->Add({.header = {.kind = FrameKind::kRelease, .offset = *read}, .checked = false});
  uv_buf_t buffer = write->buffer();
  Submit(write, &buffer, 1, false);
}

Traffic TcpConnection::traffic() const {
  if (handle_ == nullptr) return {};
  return {received_bytes_, submitted_bytes_ - uv_stream_get_write_queue_size(stream())};
}

bool TcpConnection::OnRelease(uint64_t count) {
  if (!shared_ || !shared_->OnRelease(count)) return false;
  Pump();
  return true;
}

void TcpConnection::Send(Outgoing message) {
  if (shared_ && shared_->Wants(message)) shared_->Announce(message);
  if (queue_.empty() && MayStart(message)) return Write(std::move(message));
  owner_->OnWaiting(message.id, peer_, true);
  queue_.Push(std::move(message));
  Pump();
}

std::optional<Outgoing> TcpConnection::Remove(SendId id) {
  auto message = queue_.Remove(id);
  if (message && shared_) shared_->Retire(*message);
  return message;
}

bool TcpConnection::MayStart(const Outgoing& message) const {
  if (owner_ == nullptr || !up_ || broken_) return false;
  if (socket_payload_ >= kWindowBytes) return false;
  return !shared_ || !shared_->Wants(message) || shared_->WindowOpen();
}

void TcpConnection::Pump() {
  for (const Outgoing* next = queue_.Front(); next != nullptr && MayStart(*next);
       next = queue_.Front()) {
    Outgoing message = *queue_.Pop();
    owner_->OnWaiting(message.id, peer_, false);
    Write(std::move(message));
  }
}

void TcpConnection::Write(Outgoing message) {
  auto* write = new WriteRequest;
  write->message = true;
  DecodedHeader frame{message.header, 0, !loopback_ && !shared_, 0};
  std::optional<SharedPlace> place;
  if (shared_) {
    if (const auto read = shared_->TakeReport()) {
      write->Add({.header = {.kind = FrameKind::kRelease, .offset = *read}, .checked = false});
    }
    if (shared_->Wants(message)) {
      shared_->Announce(message);
      place = shared_->Put(message);
    }
  }
  constexpr size_t kFewBuffers = 8;
  std::array<uv_buf_t, kFewBuffers> few;
  std::vector<uv_buf_t> many;
  uv_buf_t* buffers = few.data();
  if (message.pieces.size() >= kFewBuffers) {
    many.resize(message.pieces.size() + 1);
    buffers = many.data();
  }
  size_t count = 1;
  if (place) {
    frame.shared_page = place->page;
    frame.payload_checksum = place->writing;
  } else {
    Checksum checksum;
    for (BytesView piece : message.pieces) {
      if (piece.empty()) continue;
      if (frame.checked) checksum.Add(piece);
      auto* data = reinterpret_cast<char*>(const_cast<std::byte*>(piece.data()));
      buffers[count++] = uv_buf_init(data, static_cast<unsigned>(piece.size()));
    }
    if (frame.checked) frame.payload_checksum = checksum.Value();
  }
  write->Add(frame);
  buffers[0] = write->buffer();
  message.shared = place.has_value();
  in_flight_payload_ += message.header.length;
  if (!message.shared) socket_payload_ += message.header.length;
  in_flight_.push_back(std::move(message));
  Submit(write, buffers, count, place && shared_->TakeIntroduction());
}

void TcpConnection::Submit(WriteRequest* write, uv_buf_t* buffers, size_t count, bool introduce) {
  write->request.data = write;
  for (size_t i = 0; i < count; ++i) submitted_bytes_ += buffers[i].len;
  const auto on_written = [](uv_write_t* request, int status) {
    const std::unique_ptr<WriteRequest> owned(static_cast<WriteRequest*>(request->data));
    With(request->handle->data, [&](TcpConnection& self) {
      if (owned->message || status != 0) self.OnWritten(status);
    });
  };
  const int error = uv_write2(&write->request, stream(), buffers, static_cast<unsigned>(count),
                              introduce ? owner_->arena_handle() : nullptr, on_written);
  if (error == 0) return;
  delete write;
  broken_ = true;
  FailLater(Status::Unavailable(
      fmt::format("the connection to {} broke: {}", name_, uv_strerror(error))));
}

void TcpConnection::OnWritten(int status) {
  if (status == UV_EPIPE || status == UV_ECONNRESET) {
    // The peer's last messages may still wait to be read; reading then reports the loss.
    broken_ = true;
    return;
  }
  if (status != 0) {
    return Fail(Status::Unavailable(
        fmt::format("the connection to {} broke: {}", name_, uv_strerror(status))));
  }
  Outgoing message = std::move(in_flight_.front());
  in_flight_.pop_front();
  in_flight_payload_ -= message.header.length;
  if (!message.shared) socket_payload_ -= message.header.length;
  if (shared_) shared_->Retire(message);
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
  Owner* const owner = std::exchange(owner_, nullptr);
  up_ = false;
  reader_.Stop();
  CloseHandle();
  std::vector<Outgoing> pending;
  for (Outgoing& message : in_flight_) pending.push_back(std::move(message));
  in_flight_.clear();
  in_flight_payload_ = socket_payload_ = 0;
  for (Outgoing& message : queue_.TakeAll()) {
    owner->OnWaiting(message.id, peer_, false);
    pending.push_back(std::move(message));
  }
  if (shared_) {
    for (Outgoing& message : pending) shared_->Retire(message);
  }
  shared_.reset();
  return pending;
}

}  // namespace motley
