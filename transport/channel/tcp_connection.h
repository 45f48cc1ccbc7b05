// SPDX-License-Identifier: Apache-2.0
// One connection of a TcpTransport: its socket, send queue and frame reader. Between processes of
// one machine and user the socket is a Unix one, and large payloads go through shared memory
// (shared_link.h). Loop thread only. Held by shared_ptr, so that a callback may close the
// connection that runs it.
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
  // A connection's interface to its transport.
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual Receiver* receiver() const = 0;  // May be null.
    // The connection failed: closes it, settles its messages and notifies the receiver.
    virtual void OnConnectionLost(TcpConnection& connection, const Status& why) = 0;
    // Runs `task` in a later turn of the loop, or while the transport closes.
    virtual void RunLater(Task task) = 0;
    // A message started to wait here or, with `waits` false, stopped waiting. Cancel finds it this
    // way.
    virtual void OnWaiting(SendId id, PeerId peer, bool waits) = 0;
    // True if peers on this machine are reached through shared memory.
    virtual bool local() const = 0;
    // The memory that such peers read, and the libuv stream that wraps its descriptor. Null: none.
    virtual SharedArena* arena() = 0;
    virtual uv_stream_s* arena_handle() = 0;
    virtual ParallelFor* parallel() const = 0;  // For copying payloads; may be null.
  };

  TcpConnection(uv_loop_s* loop, PeerId peer, Owner& owner);
  ~TcpConnection() override;

  // Accepts the next connection waiting at `listener`. An error when it is already gone.
  Status Accept(uv_stream_s* listener);
  // To be called after Accept: tells the receiver that the connection is up, and starts to read.
  void Start();
  // Looks up the address and connects, in later turns of the loop.
  void Connect(const std::string& address);

  void Send(Outgoing message);
  // Takes back a message that was not handed to the socket; nothing when it is not waiting here.
  std::optional<Outgoing> Remove(SendId id);
  // Payload bytes whose Done has not run.
  size_t queued_bytes() const { return queue_.bytes() + in_flight_payload_; }
  Traffic traffic() const;
  std::string host() const {  // See Transport::HostOf.
    return shared_ || loopback_ ? "this machine" : name_.substr(0, name_.rfind(':'));
  }
  // Frees the socket and hands back every message whose Done has not run. No call to the owner
  // follows.
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
  void ReportRead();
  void TakeView();
  void OnWritten(int status);
  void FailLater(Status why);
  void Fail(const Status& why);
  // Calls `function` on the connection that `data` belongs to, unless it was closed, and keeps the
  // connection alive meanwhile.
  template <typename Function>
  static void With(void* data, Function function);

  uv_loop_s* const loop_;
  const PeerId peer_;
  Owner* owner_;                 // Null once closed.
  Handle* handle_ = nullptr;     // Frees itself after uv_close.
  std::string name_ = "a peer";  // The peer's address, for messages.
  bool accepted_ = false;
  bool up_ = false;
  bool loopback_ = false;                    // Both ends are on this machine.
  bool broken_ = false;                      // A write failed; the read side finds out why.
  std::deque<sockaddr_storage> candidates_;  // Addresses left to try.
  FrameReader reader_{*this};
  SendQueue queue_;
  std::deque<Outgoing> in_flight_;  // Handed to libuv, in order.
  size_t in_flight_payload_ = 0;
  size_t socket_payload_ = 0;  // The part of it that is not in shared memory.
  uint64_t received_bytes_ = 0;
  uint64_t submitted_bytes_ = 0;        // Handed to libuv.
  std::unique_ptr<SharedLink> shared_;  // Null: the peer is on another machine, or reached by TCP.
};

}  // namespace motley
