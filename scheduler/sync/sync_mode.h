// SPDX-License-Identifier: Apache-2.0
// How the updates of a job are synchronised, as users write it:
//
//   bsp     all workers share each update, and wait for it (a barrier)
//   asp     each worker's gradient is an update of its own, applied when it arrives
//   ssp:S   the same, and no worker begins an update more than S ahead of the slowest
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace motley {

struct SyncMode {
  bool one_each = false;               // Each worker has updates of its own.
  std::optional<uint32_t> most_ahead;  // With one_each: the bound S; none: no bound.

  bool operator==(const SyncMode&) const = default;
};

// kInvalidArgument for anything else than the above.
Result<SyncMode> ParseSyncMode(std::string_view text);
std::string NameOf(const SyncMode& mode);

}  // namespace motley
