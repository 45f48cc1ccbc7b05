// SPDX-License-Identifier: Apache-2.0
// Chunks that have arrived before their turn, and the memory for them, which is used again.
// One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "collective/algorithm.h"
#include "transport/wire/header.h"

namespace motley {

class EarlyChunks {
 public:
  struct Buffer {
    std::unique_ptr<std::byte[]> bytes;
    size_t capacity = 0;
  };
  using Key = std::tuple<uint64_t, size_t, Rank, Verb>;  // Update, chunk, sender.

  Buffer Take(size_t bytes) {
    while (!free_.empty()) {
      Buffer buffer = std::move(free_.back());
      free_.pop_back();
      if (buffer.capacity >= bytes) return buffer;
    }
    return {std::make_unique_for_overwrite<std::byte[]>(bytes), bytes};
  }
  void GiveBack(Buffer buffer) { free_.push_back(std::move(buffer)); }

  // False: there is one of the same key.
  bool Keep(const Key& key, const Header& header, Buffer buffer) {
    return waiting_.try_emplace(key, header, std::move(buffer)).second;
  }
  std::optional<Buffer> Extract(const Key& key) {
    const auto found = waiting_.find(key);
    if (found == waiting_.end()) return std::nullopt;
    Buffer buffer = std::move(found->second.second);
    waiting_.erase(found);
    return buffer;
  }
  // The last update that a chunk waits for; 0 if none waits.
  uint64_t last_update() const {
    return waiting_.empty() ? 0 : std::get<0>(waiting_.rbegin()->first);
  }
  // The headers of chunks of this update, by sender.
  std::vector<std::pair<Rank, Header>> HeadersOf(uint64_t update) const {
    std::vector<std::pair<Rank, Header>> headers;
    for (const auto& [key, chunk] : waiting_) {
      if (std::get<0>(key) == update) headers.emplace_back(std::get<2>(key), chunk.first);
    }
    return headers;
  }

 private:
  std::map<Key, std::pair<Header, Buffer>> waiting_;
  std::vector<Buffer> free_;
};

}  // namespace motley
