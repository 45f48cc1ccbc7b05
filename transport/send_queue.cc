// SPDX-License-Identifier: Apache-2.0
#include "transport/send_queue.h"

#include <fmt/format.h>

namespace motley {

Status SetLength(Outgoing& message) {
  const size_t limit = MaxPayload(message.header.kind);
  size_t length = 0;
  for (BytesView piece : message.pieces) {
    if (piece.size() > limit - length) {
      return Status::InvalidArgument(
          fmt::format("a message of kind {} may carry at most {} bytes; cut it into slices",
                      static_cast<int>(message.header.kind), limit));
    }
    length += piece.size();
  }
  message.header.length = static_cast<uint32_t>(length);
  return Status::Ok();
}

void SendQueue::Push(Outgoing message) {
  bytes_ += message.header.length;
  const Key key{message.priority, message.id};
  waiting_.emplace(key, std::move(message));
}

const Outgoing* SendQueue::Front() const {
  return waiting_.empty() ? nullptr : &waiting_.begin()->second;
}

std::optional<Outgoing> SendQueue::Pop() {
  if (waiting_.empty()) return std::nullopt;
  Outgoing message = std::move(waiting_.begin()->second);
  waiting_.erase(waiting_.begin());
  bytes_ -= message.header.length;
  return message;
}

std::optional<Outgoing> SendQueue::Remove(SendId id) {
  for (Priority priority : {Priority::kControl, Priority::kBulk}) {
    const auto it = waiting_.find({priority, id});
    if (it == waiting_.end()) continue;
    Outgoing message = std::move(it->second);
    waiting_.erase(it);
    bytes_ -= message.header.length;
    return message;
  }
  return std::nullopt;
}

std::vector<Outgoing> SendQueue::TakeAll() {
  std::vector<Outgoing> all;
  while (auto message = Pop()) all.push_back(std::move(*message));
  return all;
}

}  // namespace motley
