// SPDX-License-Identifier: Apache-2.0
// XXH3 (xxhash.com), 64 and 128 bits. Detects accidents, not forgeries. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "base/bytes.h"

struct XXH3_state_s;

namespace motley {

using Hash128 = std::array<std::byte, 16>;

std::string ToText(const Hash128& hash);  // 32 hexadecimal digits, as xxh128sum prints it.

uint64_t Hash64(BytesView bytes, uint64_t seed = 0);

// 128-bit hash over bytes that come in pieces. One thread.
class HashStream {
 public:
  HashStream();
  void Add(BytesView bytes);
  Hash128 Value() const;

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;
};

}  // namespace motley
