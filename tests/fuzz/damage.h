// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "base/random.h"

namespace motley {

// A copy of `text` with one to four random changes: bytes set, flipped, added, removed, repeated,
// or the end cut off.
inline std::string Damaged(std::string text, Random& random) {
  const uint64_t times = 1 + random.Below(4);
  for (uint64_t i = 0; i < times && !text.empty(); ++i) {
    const size_t at = random.Below(text.size());
    const auto byte = static_cast<char>(random.Below(256));
    switch (random.Below(6)) {
      case 0: text[at] = byte; break;
      case 1: text[at] = static_cast<char>(text[at] ^ (1 << random.Below(8))); break;
      case 2: text.insert(at, 1, byte); break;
      case 3: text.erase(at, 1 + random.Below(5)); break;
      case 4: text.resize(at); break;
      default: text.insert(at, text.substr(random.Below(text.size()), 1 + random.Below(20)));
    }
  }
  return text;
}

}  // namespace motley
