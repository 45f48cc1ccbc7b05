// SPDX-License-Identifier: Apache-2.0
#include "runtime/shard/version_pool.h"

#include <algorithm>

#include "runtime/memory_need.h"

namespace motley {

VersionPool::Version VersionPool::Unused() const {
  const auto unused = [](const Version& version) { return version.use_count() == 1; };
  const auto found = std::find_if(versions_.begin(), versions_.end(), unused);
  return found != versions_.end() ? *found : nullptr;
}

Result<VersionPool::Version> VersionPool::Spare() {
  FreeSurplus();
  Status none = NoMemory("another version of the parameters");  // Made while there is some memory.
  for (;;) {
    if (Version unused = Unused()) return unused;
    if (versions_.size() < most_) {
      auto fresh = OrNoMemory("another version of the parameters", [this]() -> Result<Version> {
        versions_.push_back(std::make_shared<std::vector<float>>(length_));
        return versions_.back();
      });
      if (fresh.ok()) return fresh;
    }
    if (!crowded_ || !crowded_()) return none;
  }
}

// A slow reader that is done leaves its version unused. The memory is kept for a while, because a
// worker that is slow in one step is slow in the next, and allocating a large vector takes time.
void VersionPool::FreeSurplus() {
  constexpr uint32_t kKeptFor = 16;  // Calls.
  const auto unused = [](const Version& version) { return version.use_count() == 1; };
  if (std::count_if(versions_.begin(), versions_.end(), unused) < 2) {
    surplus_for_ = 0;
  } else if (++surplus_for_ >= kKeptFor) {
    surplus_for_ = 0;
    versions_.erase(std::find_if(versions_.begin(), versions_.end(), unused));
  }
}

}  // namespace motley
