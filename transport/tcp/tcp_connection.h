// SPDX-License-Identifier: Apache-2.0
// One connection of a TcpTransport: its socket, its send queue and its frame reader. Between
// processes of one machine and user the socket is a Unix one, and large payloads go through shared
// memory (shared_link.h). Loop thread only. Held by shared_ptr so that a callback may close the
// connection it runs for.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/loop/loop.h"
#include "base/status.h"
#include "transport/memory/shared_link.h"
#include "transport/send_queue.h"
#include "transport/transport.h"
#include "transport/wire/frame_reader.h"

struct uv_buf_t;
struct uv_loop_s;
struct uv_stream_s;

namespace motley {

class TcpConnection final : public FrameReader::Sink,
                            public std::enable_shared_from_this<TcpConnection> {
 public:
  // The transport, as its connections see it.
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual Receiver* receiver() const = 0;  // May be null.
    // The connection is no use any more: closes it, settles what it left and tells the receiver.
    virtual void OnConnectionLost(TcpConnection& connection, const Status& why) = 0;
    // Runs `task` in a later turn of the loop, or while the transport closes.
    virtual void RunLater(Task task) = 0;
    // A message waits here, or does no longer: where Cancel finds it.
    virtual void OnWaiting(SendId id, PeerId peer, bool waits) = 0;
    // Whether peers on this machine are reached by shared memory.
    virtual bool local() const = 0;
    // What they read from, and the stream that stands for its descriptor. Null: there is none.
    virtual SharedArena* arena() = 0;
    virtual uv_stream_s* arena_handle() = 0;
    virtual ParallelFor* parallel() const = 0;  // For copying; may be null.
  };

  TcpConnection(uv_loop_s* loop, PeerId peer, Owner& owner);
  ~TcpConnection() override;

  // Takes the connection that waits at `listener`. An error when it is gone already.
  Status Accept(uv_stream_s* listener);
  // After Accept: tells the receiver that the connection is up, and starts to read.
  void Start();
  // Looks the address up and connects, in later turns of the loop.
  void Connect(const std::string& address);

  void Send(Outgoing message);
  // Takes back a message of which nothing was handed to the socket; nothing when it is not here.
  std::optional<Outgoing> Remove(SendId id);
  // Payload bytes that are not done.
  size_t queued_bytes() const { return queue_.bytes() + in_flight_payload_; }
  Traffic traffic() const;
  std::string host() const {  // As Transport::HostOf.
    return shared_ || loopback_ ? "this machine" : name_.substr(0, name_.rfind(':'));
  }
  // Frees the socket and hands back every message that is not done. No call to the owner follows.
  std::vector<Outgoing> Close();

  PeerId peer() const { return peer_; }
  bool accepted() const { return accepted_; }
  int descriptor() const;  // -1: none.

  std::span<std::byte> OnPayload(const Header& header) override;
  void OnPayloadDone(const Header& header, bool discarded) override;
  Result<BytesView> OnShared(const SharedPlace& place, size_t length) override;
  void CopyShared(BytesView from, std::byte* to) override;
  bool OnSharedRead(const SharedPlace& place, size_t length) override;
  bool OnRelease(uint64_t count) override;

 private:
  union Handle;
  struct WriteRequest;
  struct Lookup;

  uv_stream_s* stream() const;
  Status OpenHandle(bool local);
  bool ConnectNearby(const sockaddr_storage& address);
  void CloseHandle();
  void StartLookup(const std::string& host, const std::string& port);
  void OnLookup(int status, std::deque<sockaddr_storage> found);
  void ConnectNext(Status last_error);
  void OnConnect(int status);
  void OnRead(ptrdiff_t count);
  bool MayStart(const Outgoing& message) const;
  void Pump();
  void Write(Outgoing message);
  void Submit(WriteRequest* write, uv_buf_t* buffers, size_t count, bool introduce);
  void TellRead();
  void TakeView();
  void OnWritten(int status);
  void FailLater(Status why);
  void Fail(const Status& why);
  // Calls `function` on the connection of `handle`, unless it was closed, and keeps it meanwhile.
  template <typename Function>
  static void With(void* data, Function function);

  uv_loop_s* const loop_;
  const PeerId peer_;
  Owner* owner_;                 // Null once closed.
  Handle* handle_ = nullptr;     // Frees itself after uv_close.
  std::string name_ = "a peer";  // Its address, for messages.
  bool accepted_ = false;
  bool up_ = false;
  bool loopback_ = false;                    // No wire in between.
  bool broken_ = false;                      // A write failed: the reader hears why.
  std::deque<sockaddr_storage> candidates_;  // Where else to try to connect to.
  FrameReader reader_{*this};
  SendQueue queue_;
  std::deque<Outgoing> in_flight_;  // Handed to libuv, in order.
  size_t in_flight_payload_ = 0;
  size_t socket_payload_ = 0;  // Of it, what is not in shared memory.
  uint64_t received_bytes_ = 0;
  uint64_t submitted_bytes_ = 0;        // Handed to libuv.
  std::unique_ptr<SharedLink> shared_;  // Null: no peer of this machine.
};

}  // namespace motley
