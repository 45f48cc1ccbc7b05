// SPDX-License-Identifier: Apache-2.0
// "1 step", "2 steps".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace motley {

// `what` is the word for one thing, whose plural ends with s.
inline std::string Counted(uint64_t count, std::string_view what) {
  return std::to_string(count).append(" ").append(what).append(count == 1 ? "" : "s");
}

}  // namespace motley
