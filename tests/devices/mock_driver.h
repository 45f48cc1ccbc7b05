// SPDX-License-Identifier: Apache-2.0
// A device driver that computes on the host, in memory that only it hands out, and fails when told
// to: what devices over drivers are tested with where there is no hardware.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/loop/loop.h"
#include "base/status.h"
#include "devices/device.h"
#include "devices/drivers/driver.h"

namespace motley {

// One per process, reset by each test that uses it. The switches may be set from any thread.
struct MockDriver {
  static MockDriver& Get();
  // As after its construction. No device of it may be left.
  void Reset();
  const motley_driver& table() const;
  // A device over it; `index`: of those that it finds.
  static Result<std::unique_ptr<Device>> Make(Loop& loop, size_t index = 0);

  std::atomic<uint32_t> devices{1};
  std::atomic<bool> no_kernels{false};             // open fails.
  std::atomic<uint64_t> memory_bytes{1ull << 32};  // More than so much at once is refused.
  std::atomic<int> fails{MOTLEY_DRIVER_OK};        // The next finish tells this, once.
  std::atomic<bool> hangs{false};                  // finish waits as long as this is so,
  std::atomic<bool> open_hangs{false};             // and open,
  std::atomic<bool> close_hangs{false};            // and close.
  std::atomic<bool> old_kernels{false};            // Of the version before this one.
  std::atomic<bool> pool_aborts{false};            // A thread of its own.

  // What happened.
  std::atomic<uint32_t> opens{0};  // That were begun.
  std::atomic<uint32_t> open_queues{0};
  std::atomic<uint32_t> finishes{0};  // That are over.
  std::atomic<uint64_t> held_bytes{0};
  std::atomic<uint64_t> allocations{0};
  std::atomic<uint64_t> copied_in_bytes{0};
  std::atomic<uint64_t> copied_out_bytes{0};
  std::atomic<uint64_t> marks{0};
  std::atomic<int> looking{0};              // Threads in find or describe,
  std::atomic<bool> looked_at_once{false};  // of which there was more than one.
};

}  // namespace motley
