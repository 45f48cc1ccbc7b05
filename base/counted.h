// SPDX-License-Identifier: Apache-2.0
// A count with its noun: "1 step", "2 steps".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace motley {

// `what` is a singular noun with a plural in s.
inline std::string Counted(uint64_t count, std::string_view what) {
  return std::to_string(count).append(" ").append(what).append(count == 1 ? "" : "s");
}

}  // namespace motley
