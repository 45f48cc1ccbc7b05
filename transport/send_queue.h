// SPDX-License-Identifier: Apache-2.0
// Messages to one peer that have not started yet: control before bulk, in order within each
// priority. Every transport keeps one queue per peer. Pure; one thread.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "transport/transport.h"

namespace motley {

// A message as Send took it. The pieces are borrowed until `done` has run.
struct Outgoing {
  SendId id = 0;
  Header header;
  std::vector<BytesView> pieces;
  Priority priority = Priority::kBulk;
  Transport::Done done;
  bool announced = false;  // The shared arena knows that it may get the payload.
  bool shared = false;     // The payload was written to shared memory.
};

// Fills in header.length. Returns kInvalidArgument when the pieces exceed MaxPayload of their kind.
Status SetLength(Outgoing& message);

class SendQueue {
 public:
  // Ids rise from call to call; they are the order within a priority.
  void Push(Outgoing message);
  // The next message to start, or null.
  const Outgoing* Front() const;
  // Takes the message that Front() points to.
  std::optional<Outgoing> Pop();
  // Takes back one message; nothing when it has left the queue.
  std::optional<Outgoing> Remove(SendId id);
  // Takes all remaining messages, in the order in which they would have been sent.
  std::vector<Outgoing> TakeAll();

  bool empty() const { return waiting_.empty(); }
  // Payload bytes waiting.
  size_t bytes() const { return bytes_; }

 private:
  using Key = std::pair<Priority, SendId>;
  std::map<Key, Outgoing> waiting_;
  size_t bytes_ = 0;
};

}  // namespace motley
