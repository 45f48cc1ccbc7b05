// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sync/sync_mode.h"

#include <fmt/format.h>

#include <charconv>

namespace motley {

Result<SyncMode> ParseSyncMode(std::string_view text) {
  constexpr std::string_view kBound = "ssp:";
  if (text == "bsp") return SyncMode{};
  if (text == "asp") return SyncMode{.one_each = true};
  if (text.starts_with(kBound)) {
    const std::string_view digits = text.substr(kBound.size());
    uint32_t bound = 0;
    const auto [end, error] = std::from_chars(digits.begin(), digits.end(), bound);
    if (error == std::errc() && end == digits.end()) return SyncMode{true, bound};
  }
  return Status::InvalidArgument(
      fmt::format("`sync` {}: use bsp, asp, or ssp:S with a whole number S, such as ssp:2", text));
}

std::string NameOf(const SyncMode& mode) {
  if (!mode.one_each) return "bsp";
  return mode.most_ahead ? fmt::format("ssp:{}", *mode.most_ahead) : "asp";
}

}  // namespace motley
