// SPDX-License-Identifier: Apache-2.0
// The newest version of the parameters at the server. The loop thread sets it, and any thread may
// read it. The mutex guards the pair of pointer and number, and is held only for their copies.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace motley {

class NewestVersion {
 public:
  using Values = std::shared_ptr<const std::vector<float>>;

  // Any thread. Release the values on the loop thread, because their memory is then reused.
  struct Copy {
    Values values = std::make_shared<const std::vector<float>>();  // Never null; empty: none here.
    uint64_t number = 0;
  };
  Copy Get() const {
    const std::lock_guard lock(mutex_);
    return newest_;
  }

  // Loop thread, which alone writes, and so reads without the lock.
  void Set(Values values, uint64_t number) {
    const std::lock_guard lock(mutex_);
    std::swap(newest_.values, values);  // The old values are released after the lock.
    newest_.number = number;
  }
  const Values& values() const { return newest_.values; }
  uint64_t number() const { return newest_.number; }

 private:
  mutable std::mutex mutex_;
  Copy newest_;
};

}  // namespace motley
