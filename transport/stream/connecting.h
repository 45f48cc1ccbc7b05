// SPDX-License-Identifier: Apache-2.0
// How streams come about: one end listens, the other dials. Loop thread only.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/loop/loop.h"
#include "transport/stream/peer_stream.h"

struct uv_loop_s;

namespace motley {

// Listens for streams until it is destroyed.
class Listener {
 public:
  class Handler {
   public:
    virtual ~Handler() = default;
    // A connection waits. The listener reports no other one until Accept took it. The call may
    // destroy the listener.
    virtual void OnIncoming(Listener& listener) = 0;
  };
  virtual ~Listener() = default;
  // The address in use.
  virtual const std::string& address() const = 0;
  // Takes the connection that waits. An error when it is already gone or not welcome.
  virtual Result<std::unique_ptr<PeerStream>> Accept() = 0;
};

// What a transport gives to every listener and every attempt to connect, beside the address. A
// stream that encrypts would find its credentials here.
struct StreamOptions {
  uv_loop_s* loop = nullptr;  // The loop of the transport and its streams.
  // Runs the task in a later turn of the loop, or while the transport closes.
  std::function<void(Task)> run_later;
};

// An attempt to connect, which ends when the last reference goes.
class Dialing {
 public:
  virtual ~Dialing() = default;
};

// Takes the stream, or the reason why there is none. Runs once, in a later turn of the loop, unless
// the Dialing is gone.
using Dialed = std::function<void(Result<std::unique_ptr<PeerStream>>)>;

}  // namespace motley
