// SPDX-License-Identifier: Apache-2.0
#include "transport/channel/tcp_transport.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>
#include <uv.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/loop/loop_guard.h"
#include "transport/channel/tcp_connection.h"
#include "transport/memory/shared_memory.h"
#include "transport/send_queue.h"
#include "transport/stream/local_socket.h"
#include "transport/stream/tcp_address.h"
#include "transport/task_queue.h"

namespace motley {
namespace {

// The most accepted connections of one transport; further ones are closed on arrival. A job has up
// to 1,024 workers, 64 connections that have not joined (runtime/coordinator/server_peers) and 16
// peers that measure their links. The rest is room for connections that are about to close.
constexpr size_t kMaxAccepted = 1280;
// While the server reads its data, new connections wait in the kernel's queue.
constexpr int kBacklog = 1024;

// All descriptors are below this number.
int DescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::numeric_limits<int>::max();
  return static_cast<int>(std::min<rlim_t>(limit.rlim_cur, std::numeric_limits<int>::max()));
}

template <typename Handle>
void CloseAndDelete(Handle* handle) {
  handle->data = nullptr;
  uv_close(reinterpret_cast<uv_handle_t*>(handle),
           [](uv_handle_t* closed) { delete reinterpret_cast<Handle*>(closed); });
}

// Only for Listen, once at the start: may block on a name server.
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

class TcpTransport final : public Transport, public TcpConnection::Owner {
 public:
  TcpTransport(uv_loop_t* loop, Nearby nearby, ParallelFor* parallel)
      : loop_(loop), nearby_(nearby), parallel_(parallel), idle_(new uv_idle_t) {
    uv_idle_init(loop_, idle_);
    idle_->data = this;
  }
  ~TcpTransport() override { TcpTransport::Close(); }

  void SetReceiver(Receiver* receiver) override;
  Result<std::string> Listen(const std::string& address) override;
  void StopListening() override;
  PeerId Connect(const std::string& address) override;
  SendId Send(PeerId peer, Header header, std::span<const BytesView> pieces, Priority priority,
              Done done) override;
  void Cancel(SendId id) override;
  size_t QueuedBytes(PeerId peer) const override;
  std::string HostOf(PeerId peer) const override;
  Traffic TrafficOf(PeerId peer) const override;
  void Disconnect(PeerId peer) override;
  void Close() override;

  Receiver* receiver() const override { return receiver_; }
  void OnConnectionLost(TcpConnection& connection, const Status& why) override;
  void RunLater(Task task) override;
  void OnWaiting(SendId id, PeerId peer, bool waits) override;
  bool local() const override { return nearby_ == Nearby::kSharedMemory; }
  SharedArena* arena() override;
  uv_stream_s* arena_handle() override;
  ParallelFor* parallel() const override { return parallel_; }

 private:
  static void OnConnection(uv_stream_t* stream, int status);
  void ListenNearby(const sockaddr_storage& address);
  void OnIncoming(uv_stream_t* listener);
  // Takes the connection off the list and runs its pending Dones.
  void Drop(PeerId peer, const Status& why);

  uv_loop_t* const loop_;
  const Nearby nearby_;
  ParallelFor* const parallel_;
  uv_idle_t* idle_;  // Runs deferred_; active only when that is not empty.
  Receiver* receiver_ = nullptr;
  bool closed_ = false;
  PeerId next_peer_ = 1;
  SendId next_send_ = 1;
  size_t accepted_ = 0;
  bool shortage_reported_ = false;
  std::vector<uv_tcp_t*> listeners_;
  std::vector<uv_pipe_t*> nearby_listeners_;
  std::vector<uv_stream_t*> held_;      // Listeners that wait for a receiver.
  std::unique_ptr<SharedArena> arena_;  // Made when first needed.
  uv_pipe_t* arena_handle_ = nullptr;
  std::unordered_map<SendId, PeerId> waiting_;  // Messages in send queues. Never iterated.
  std::map<PeerId, std::shared_ptr<TcpConnection>> connections_;
  TaskQueue settled_;   // Dones of dropped connections, about to run.
  TaskQueue deferred_;  // For the next turn of the loop.
};

Result<std::string> TcpTransport::Listen(const std::string& address) {
  MOTLEY_ASSIGN_OR_RETURN(const HostPort where, ParseHostPort(address));
  const auto fail = [&](const char* reason) {
    return Status::Unavailable(
        fmt::format("cannot listen at {}: {}; choose another address or port (0 takes a free one)",
                    address, reason));
  };
  const auto fail_by = [&](int error) {
    if (error != UV_EMFILE && error != UV_ENFILE) return fail(uv_strerror(error));
    return Status::Resource(
        fmt::format("cannot listen at {}: {}; raise the limit of open files (ulimit -n)", address,
                    uv_strerror(error)));
  };
  if (closed_) return fail("this transport is closed");
  const auto resolved = ResolveNow(loop_, where);
  if (!resolved.ok()) return fail(resolved.status().message().c_str());
  auto* listener = new uv_tcp_t;
  if (const int error = uv_tcp_init(loop_, listener)) {
    delete listener;
    return fail_by(error);
  }
  listener->data = this;
  int error = uv_tcp_bind(listener, reinterpret_cast<const sockaddr*>(&resolved.value()), 0);
  if (error == 0) {
    error = uv_listen(reinterpret_cast<uv_stream_t*>(listener), kBacklog, OnConnection);
  }
  sockaddr_storage bound{};
  int length = sizeof(bound);
  if (error == 0) {
    error = uv_tcp_getsockname(listener, reinterpret_cast<sockaddr*>(&bound), &length);
  }
  if (error != 0) {
    CloseAndDelete(listener);
    return fail_by(error);
  }
  listeners_.push_back(listener);
  if (local()) ListenNearby(bound);
  return FormatAddress(bound);
}

void TcpTransport::OnConnection(uv_stream_t* stream, int status) {
  auto* self = static_cast<TcpTransport*>(stream->data);
  if (status != 0 || self == nullptr) return;
  RunGuarded(stream->loop->data, [&] {
    if (self->receiver_ != nullptr) return self->OnIncoming(stream);
    self->held_.push_back(stream);  // The listener stops until its connection is accepted.
  });
}

void TcpTransport::SetReceiver(Receiver* receiver) {
  receiver_ = receiver;
  if (receiver == nullptr || held_.empty()) return;
  RunLater([this] {
    for (uv_stream_t* listener : std::exchange(held_, {})) {
      receiver_ != nullptr ? OnIncoming(listener) : held_.push_back(listener);
    }
  });
}

void TcpTransport::StopListening() {
  held_.clear();
  for (uv_tcp_t* listener : listeners_) CloseAndDelete(listener);
  listeners_.clear();
  for (uv_pipe_t* listener : nearby_listeners_) CloseAndDelete(listener);
  nearby_listeners_.clear();
}

// Listens at the Unix socket, too. If that fails, every peer uses TCP.
void TcpTransport::ListenNearby(const sockaddr_storage& address) {
  const std::optional<int> fd = ListenLocally(address, kBacklog);
  if (!fd) return;
  auto* listener = new uv_pipe_t;
  uv_pipe_init(loop_, listener, 0);
  listener->data = this;
  const bool open = uv_pipe_open(listener, *fd) == 0;
  if (!open) close(*fd);
  if (!open || uv_listen(reinterpret_cast<uv_stream_t*>(listener), kBacklog, OnConnection) != 0) {
    return CloseAndDelete(listener);
  }
  nearby_listeners_.push_back(listener);
}

SharedArena* TcpTransport::arena() {
  if (arena_ != nullptr || closed_) return arena_.get();
  arena_ = SharedArena::Create(parallel_);
  if (arena_ == nullptr) return nullptr;
  arena_handle_ = new uv_pipe_t;
  uv_pipe_init(loop_, arena_handle_, 0);
  const int fd = fcntl(arena_->fd(), F_DUPFD_CLOEXEC, 0);
  if (fd >= 0 && uv_pipe_open(arena_handle_, fd) == 0) return arena_.get();
  if (fd >= 0) close(fd);
  CloseAndDelete(std::exchange(arena_handle_, nullptr));
  arena_.reset();
  return nullptr;
}

uv_stream_s* TcpTransport::arena_handle() { return reinterpret_cast<uv_stream_t*>(arena_handle_); }

void TcpTransport::OnWaiting(SendId id, PeerId peer, bool waits) {
  if (waits) {
    waiting_.emplace(id, peer);
  } else {
    waiting_.erase(id);
  }
}

void TcpTransport::OnIncoming(uv_stream_t* listener) {
  const auto connection = std::make_shared<TcpConnection>(loop_, next_peer_++, *this);
  // A connection that is not accepted stops the listener, so surplus ones are accepted and closed.
  if (!connection->Accept(listener).ok() || accepted_ >= kMaxAccepted) return;
  ++accepted_;
  connections_.emplace(connection->peer(), connection);
  // When no descriptor is left, libuv accepts with one that it keeps in reserve, and closes that
  // connection silently. So this reports the shortage a few descriptors earlier.
  constexpr int kLast = 4;
  const int limit = DescriptorLimit();
  if (connection->descriptor() >= limit - kLast && !std::exchange(shortage_reported_, true) &&
      receiver_ != nullptr) {
    receiver_->OnShortage(Status::Resource(fmt::format(
        "with {} connections open, nearly all of the {} files that this process may open are "
        "in use, and further workers cannot connect; raise the limit of open files "
        "(ulimit -n)",
        accepted_, limit)));
  }
  connection->Start();
}

PeerId TcpTransport::Connect(const std::string& address) {
  const PeerId peer = next_peer_++;
  if (closed_) return peer;
  const auto connection = std::make_shared<TcpConnection>(loop_, peer, *this);
  connections_.emplace(peer, connection);
  connection->Connect(address);
  return peer;
}

SendId TcpTransport::Send(PeerId peer, Header header, std::span<const BytesView> pieces,
                          Priority priority, Done done) {
  Outgoing message{next_send_++, header, {pieces.begin(), pieces.end()}, priority, std::move(done)};
  const SendId id = message.id;
  const auto it = connections_.find(peer);
  Status status =
      it == connections_.end() ? Status::Unavailable("the peer is gone") : SetLength(message);
  if (status.ok()) {
    it->second->Send(std::move(message));
  } else if (closed_) {
    message.done(std::move(status));
  } else {
    RunLater([done = std::move(message.done), status = std::move(status)] { done(status); });
  }
  return id;
}

void TcpTransport::Cancel(SendId id) {
  const auto it = waiting_.find(id);
  if (it == waiting_.end()) return;
  const auto connection = connections_.at(it->second);
  waiting_.erase(it);
  const auto message = connection->Remove(id);
  message->done(Status::Cancelled("taken back before it was sent"));
}

size_t TcpTransport::QueuedBytes(PeerId peer) const {
  const auto it = connections_.find(peer);
  return it == connections_.end() ? 0 : it->second->queued_bytes();
}

std::string TcpTransport::HostOf(PeerId peer) const {
  const auto it = connections_.find(peer);
  return it == connections_.end() ? "" : it->second->host();
}

Traffic TcpTransport::TrafficOf(PeerId peer) const {
  const auto it = connections_.find(peer);
  return it == connections_.end() ? Traffic() : it->second->traffic();
}

void TcpTransport::Drop(PeerId peer, const Status& why) {
  const auto it = connections_.find(peer);
  if (it == connections_.end()) return;
  const auto connection = std::move(it->second);
  connections_.erase(it);
  if (connection->accepted()) --accepted_;
  for (Outgoing& message : connection->Close()) {
    settled_.Add([done = std::move(message.done), why] { done(why); });
  }
  settled_.Run();
}

void TcpTransport::Disconnect(PeerId peer) {
  Drop(peer, Status::Unavailable("this node closed the connection"));
}

void TcpTransport::OnConnectionLost(TcpConnection& connection, const Status& why) {
  const PeerId peer = connection.peer();
  const Status lost = why;
  Drop(peer, lost.code() == StatusCode::kUnavailable ? lost : Status::Unavailable(lost.ToString()));
  if (receiver_ != nullptr) receiver_->OnLost(peer, lost);
}

void TcpTransport::RunLater(Task task) {
  deferred_.Add(std::move(task));
  uv_idle_start(idle_, [](uv_idle_t* idle) {
    uv_idle_stop(idle);
    auto* self = static_cast<TcpTransport*>(idle->data);
    RunGuarded(idle->loop->data, [self] { self->deferred_.Run(); });
  });
}

void TcpTransport::Close() {
  if (closed_) return;
  closed_ = true;
  receiver_ = nullptr;
  StopListening();
  while (!connections_.empty()) Disconnect(connections_.begin()->first);
  settled_.Run();
  deferred_.Run();
  CloseAndDelete(std::exchange(idle_, nullptr));
  if (arena_handle_ != nullptr) CloseAndDelete(std::exchange(arena_handle_, nullptr));
  arena_.reset();
}

}  // namespace

std::unique_ptr<Transport> MakeTcpTransport(uv_loop_s* loop, Nearby nearby, ParallelFor* parallel) {
  return std::make_unique<TcpTransport>(loop, nearby, parallel);
}

}  // namespace motley
