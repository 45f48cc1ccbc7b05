// SPDX-License-Identifier: Apache-2.0
#include "devices/drivers/stuck_devices.h"

#include <mutex>
#include <utility>
#include <vector>

namespace motley {
namespace {

struct Kept {
  std::mutex mutex;
  std::vector<std::shared_ptr<void>> parts;
};

// Never destroyed, so that it outlives all threads.
Kept& TheKept() {
  static Kept* const kept = new Kept;
  return *kept;
}

}  // namespace

void KeepForever(std::shared_ptr<void> parts) {
  Kept& kept = TheKept();
  const std::lock_guard lock(kept.mutex);
  kept.parts.push_back(std::move(parts));
}

bool AnyDeviceStuck() {
  Kept& kept = TheKept();
  const std::lock_guard lock(kept.mutex);
  return !kept.parts.empty();
}

}  // namespace motley
