// SPDX-License-Identifier: Apache-2.0
#include "transport/channel/stream_transport.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <uv.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/loop/loop_guard.h"
#include "transport/channel/channel.h"
#include "transport/memory/shared_memory.h"
#include "transport/send_queue.h"
#include "transport/stream/schemes.h"
#include "transport/stream/uv_stream.h"
#include "transport/task_queue.h"

namespace motley {
namespace {

// The most accepted connections of one transport; further ones are closed on arrival. A job has up
// to 1,024 workers, 64 connections that have not joined (runtime/coordinator/server_peers) and 16
// peers that measure their links. The rest is room for connections that are about to close.
constexpr size_t kMaxAccepted = 1280;

// All descriptors are below this number.
int DescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::numeric_limits<int>::max();
  return static_cast<int>(std::min<rlim_t>(limit.rlim_cur, std::numeric_limits<int>::max()));
}

// A channel, and how it came about.
struct Connection {
  std::shared_ptr<Channel> channel;
  bool accepted = false;             // A listener took it; otherwise Connect made it.
  std::shared_ptr<Dialing> dialing;  // Null if it was accepted, or its address makes no sense.
};

class StreamTransport final : public Transport, public Channel::Owner, public Listener::Handler {
 public:
  StreamTransport(uv_loop_t* loop, ParallelFor* parallel)
      : options_{loop, [this](Task task) { RunLater(std::move(task)); }},
        parallel_(parallel),
        idle_(new uv_idle_t) {
    uv_idle_init(loop, idle_);
    idle_->data = this;
  }
  ~StreamTransport() override { StreamTransport::Close(); }

  void SetReceiver(Receiver* receiver) override;
  Result<std::string> Listen(const std::string& address) override;
  void StopListening() override;
  PeerId Connect(const std::string& address) override;
  SendId Send(PeerId peer, Header header, std::span<const BytesView> pieces, Priority priority,
              Done done) override;
  void Cancel(SendId id) override;
  size_t QueuedBytes(PeerId peer) const override;
  Traffic TrafficOf(PeerId peer) const override;
  void Disconnect(PeerId peer) override;
  void Close() override;

  Receiver* receiver() const override { return receiver_; }
  void OnConnectionLost(Channel& channel, const Status& why) override;
  void RunLater(Task task) override;
  void OnWaiting(SendId id, PeerId peer, bool waits) override;
  SharedArena* arena() override;
  const PassableFile* arena_file() override { return arena_file_.get(); }
  ParallelFor* parallel() const override { return parallel_; }

  void OnIncoming(Listener& listener) override;

 private:
  void Accept(Listener& listener);
  void OnDialed(PeerId peer, Result<std::unique_ptr<PeerStream>> stream);
  void NoticeShortage(int newest_descriptor);
  // Takes the connection off the list and runs its pending Dones.
  void Drop(PeerId peer, const Status& why);

  const StreamOptions options_;
  ParallelFor* const parallel_;
  uv_idle_t* idle_;  // Runs deferred_; active only when that is not empty.
  Receiver* receiver_ = nullptr;
  bool closed_ = false;
  PeerId next_peer_ = 1;
  SendId next_send_ = 1;
  size_t accepted_ = 0;
  bool shortage_reported_ = false;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::vector<Listener*> held_;         // Those that wait for a receiver.
  std::unique_ptr<SharedArena> arena_;  // Made when first needed.
  std::unique_ptr<PassableFile> arena_file_;
  std::unordered_map<SendId, PeerId> waiting_;  // Messages in send queues. Never iterated.
  std::map<PeerId, Connection> connections_;
  TaskQueue settled_;   // Dones of dropped connections, about to run.
  TaskQueue deferred_;  // For the next turn of the loop.
};

Result<std::string> StreamTransport::Listen(const std::string& address) {
  if (closed_) {
    return Status::Unavailable(
        fmt::format("cannot listen at {}: this transport is closed", address));
  }
  MOTLEY_ASSIGN_OR_RETURN(const SchemeAddress where, ParseAddress(address));
  MOTLEY_ASSIGN_OR_RETURN(auto listeners, where.scheme->listen(options_, where.rest, *this));
  const std::string bound = listeners.front()->address();
  for (auto& listener : listeners) listeners_.push_back(std::move(listener));
  return bound;
}

void StreamTransport::OnIncoming(Listener& listener) {
  if (receiver_ != nullptr) return Accept(listener);
  held_.push_back(&listener);  // It stops until its connection is accepted.
}

void StreamTransport::SetReceiver(Receiver* receiver) {
  receiver_ = receiver;
  if (receiver == nullptr || held_.empty()) return;
  RunLater([this] {
    while (receiver_ != nullptr && !held_.empty()) {
      Listener* const listener = held_.back();
      held_.pop_back();
      Accept(*listener);
    }
  });
}

void StreamTransport::StopListening() {
  held_.clear();
  listeners_.clear();
}

SharedArena* StreamTransport::arena() {
  if (arena_ != nullptr || closed_) return arena_.get();
  arena_ = SharedArena::Create(parallel_);
  if (arena_ == nullptr) return nullptr;
  arena_file_ = PassableFile::Create(options_.loop, arena_->fd());
  if (arena_file_ == nullptr) arena_.reset();
  return arena_.get();
}

void StreamTransport::OnWaiting(SendId id, PeerId peer, bool waits) {
  if (waits) {
    waiting_.emplace(id, peer);
  } else {
    waiting_.erase(id);
  }
}

// `listener` may be gone when this returns.
void StreamTransport::Accept(Listener& listener) {
  // A connection that is not accepted stops the listener, so surplus ones are accepted and closed.
  auto stream = listener.Accept();
  if (!stream.ok() || accepted_ >= kMaxAccepted) return;
  ++accepted_;
  const PeerId peer = next_peer_++;
  const auto channel = std::make_shared<Channel>(peer, *this);
  connections_.emplace(peer, Connection{channel, true, nullptr});
  const int descriptor = (*stream)->descriptor();
  channel->Start(std::move(*stream));
  NoticeShortage(descriptor);
}

// When no descriptor is left, libuv accepts with one that it keeps in reserve, and closes that
// connection silently. So this reports the shortage a few descriptors earlier.
void StreamTransport::NoticeShortage(int newest_descriptor) {
  constexpr int kLast = 4;
  const int limit = DescriptorLimit();
  if (newest_descriptor < limit - kLast || std::exchange(shortage_reported_, true)) return;
  if (receiver_ == nullptr) return;
  receiver_->OnShortage(Status::Resource(fmt::format(
      "with {} connections open, nearly all of the {} files that this process may open are "
      "in use, and further workers cannot connect; raise the limit of open files "
      "(ulimit -n)",
      accepted_, limit)));
}

PeerId StreamTransport::Connect(const std::string& address) {
  const PeerId peer = next_peer_++;
  if (closed_) return peer;
  Connection& connection = connections_[peer];
  connection.channel = std::make_shared<Channel>(peer, *this);
  const auto where = ParseAddress(address);
  if (where.ok()) {
    connection.dialing = where->scheme->dial(
        options_, where->rest, [this, peer](auto stream) { OnDialed(peer, std::move(stream)); });
  } else {
    RunLater([this, peer, why = where.status()] { OnDialed(peer, why); });
  }
  return peer;
}

void StreamTransport::OnDialed(PeerId peer, Result<std::unique_ptr<PeerStream>> stream) {
  const auto it = connections_.find(peer);
  if (it == connections_.end()) return;
  const std::shared_ptr<Channel> channel = it->second.channel;
  if (!stream.ok()) return OnConnectionLost(*channel, stream.status());
  channel->Start(std::move(*stream));
}

SendId StreamTransport::Send(PeerId peer, Header header, std::span<const BytesView> pieces,
                             Priority priority, Done done) {
  Outgoing message{next_send_++, header, {pieces.begin(), pieces.end()}, priority, std::move(done)};
  const SendId id = message.id;
  const auto it = connections_.find(peer);
  Status status =
      it == connections_.end() ? Status::Unavailable("the peer is gone") : SetLength(message);
  if (status.ok()) {
    it->second.channel->Send(std::move(message));
  } else if (closed_) {
    message.done(std::move(status));
  } else {
    RunLater([done = std::move(message.done), status = std::move(status)] { done(status); });
  }
  return id;
}

void StreamTransport::Cancel(SendId id) {
  const auto it = waiting_.find(id);
  if (it == waiting_.end()) return;
  const auto channel = connections_.at(it->second).channel;
  waiting_.erase(it);
  const auto message = channel->Remove(id);
  message->done(Status::Cancelled("taken back before it was sent"));
}

size_t StreamTransport::QueuedBytes(PeerId peer) const {
  const auto it = connections_.find(peer);
  return it == connections_.end() ? 0 : it->second.channel->queued_bytes();
}

Traffic StreamTransport::TrafficOf(PeerId peer) const {
  const auto it = connections_.find(peer);
  return it == connections_.end() ? Traffic() : it->second.channel->traffic();
}

void StreamTransport::Drop(PeerId peer, const Status& why) {
  const auto it = connections_.find(peer);
  if (it == connections_.end()) return;
  const Connection gone = std::move(it->second);
  connections_.erase(it);
  if (gone.accepted) --accepted_;
  for (Outgoing& message : gone.channel->Close()) {
    settled_.Add([done = std::move(message.done), why] { done(why); });
  }
  settled_.Run();
}

void StreamTransport::Disconnect(PeerId peer) {
  Drop(peer, Status::Unavailable("this node closed the connection"));
}

void StreamTransport::OnConnectionLost(Channel& channel, const Status& why) {
  const PeerId peer = channel.peer();
  const Status lost = why;
  Drop(peer, lost.code() == StatusCode::kUnavailable ? lost : Status::Unavailable(lost.ToString()));
  if (receiver_ != nullptr) receiver_->OnLost(peer, lost);
}

void StreamTransport::RunLater(Task task) {
  deferred_.Add(std::move(task));
  uv_idle_start(idle_, [](uv_idle_t* idle) {
    uv_idle_stop(idle);
    auto* self = static_cast<StreamTransport*>(idle->data);
    RunGuarded(idle->loop->data, [self] { self->deferred_.Run(); });
  });
}

void StreamTransport::Close() {
  if (closed_) return;
  closed_ = true;
  receiver_ = nullptr;
  StopListening();
  while (!connections_.empty()) Disconnect(connections_.begin()->first);
  settled_.Run();
  deferred_.Run();
  idle_->data = nullptr;
  uv_close(reinterpret_cast<uv_handle_t*>(std::exchange(idle_, nullptr)),
           [](uv_handle_t* closed) { delete reinterpret_cast<uv_idle_t*>(closed); });
  arena_file_.reset();
  arena_.reset();
}

}  // namespace

std::unique_ptr<Transport> MakeStreamTransport(uv_loop_s* loop, ParallelFor* parallel) {
  return std::make_unique<StreamTransport>(loop, parallel);
}

}  // namespace motley
