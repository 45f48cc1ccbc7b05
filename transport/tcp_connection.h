// SPDX-License-Identifier: Apache-2.0
// One TCP connection of a TcpTransport: its socket, its send queue and its frame reader. Loop
// thread only. Held by shared_ptr so that a callback may close the connection it runs for.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/status.h"
#include "transport/frame_reader.h"
#include "transport/send_queue.h"
#include "transport/transport.h"

struct uv_buf_t;
struct uv_loop_s;
struct uv_stream_s;
struct uv_tcp_s;

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
  std::optional<Outgoing> Remove(SendId id) { return queue_.Remove(id); }
  // Payload bytes that are not done.
  size_t queued_bytes() const { return queue_.bytes() + in_flight_payload_; }
  // Frees the socket and hands back every message that is not done. No call to the owner follows.
  std::vector<Outgoing> Close();

  PeerId peer() const { return peer_; }
  bool accepted() const { return accepted_; }

  std::span<std::byte> OnPayload(const Header& header) override;
  void OnPayloadDone(const Header& header, bool discarded) override;

 private:
  struct WriteRequest;
  struct Lookup;

  Status OpenHandle();
  void CloseHandle();
  void StartLookup(const std::string& host, const std::string& port);
  void OnLookup(int status, std::deque<sockaddr_storage> found);
  void ConnectNext(Status last_error);
  void OnConnect(int status);
  void OnRead(ptrdiff_t count);
  void Pump();
  void Write(Outgoing message);
  void OnWritten(int status);
  void FailLater(Status why);
  void Fail(const Status& why);
  // Calls `function` on the connection of `handle`, unless it was closed, and keeps it meanwhile.
  template <typename Function>
  static void With(void* data, Function function);

  uv_loop_s* const loop_;
  const PeerId peer_;
  Owner* owner_;                 // Null once closed.
  uv_tcp_s* handle_ = nullptr;   // Frees itself after uv_close.
  std::string name_ = "a peer";  // Its address, for messages.
  bool accepted_ = false;
  bool up_ = false;
  bool broken_ = false;                      // A write failed: the reader hears why.
  std::deque<sockaddr_storage> candidates_;  // Where else to try to connect to.
  FrameReader reader_{*this};
  SendQueue queue_;
  std::deque<Outgoing> in_flight_;  // Handed to libuv, in order.
  size_t in_flight_payload_ = 0;
};

}  // namespace motley
