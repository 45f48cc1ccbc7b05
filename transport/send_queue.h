// SPDX-License-Identifier: Apache-2.0
// What one peer has been sent and has not yet left: control before bulk, in order within each.
// Every transport keeps one per peer. Pure; one thread.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "transport/transport.h"

namespace motley {

// A message as Send took it. The pieces are borrowed until `done` ran.
struct Outgoing {
  SendId id = 0;
  Header header;
  std::vector<BytesView> pieces;
  Priority priority = Priority::kBulk;
  Transport::Done done;
  bool announced = false;  // To the shared memory that it may go through.
  bool shared = false;     // Its payload went there.
};

// Fills in header.length. kInvalidArgument when the pieces are more than MaxPayload of their kind.
Status SetLength(Outgoing& message);

class SendQueue {
 public:
  // Ids rise from call to call: they are the order within a priority.
  void Push(Outgoing message);
  // The next message to start, or null.
  const Outgoing* Front() const;
  // Takes it.
  std::optional<Outgoing> Pop();
  // Takes one back; nothing when it is not here (any more).
  std::optional<Outgoing> Remove(SendId id);
  // All that is left, in the order in which it would have been sent.
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
