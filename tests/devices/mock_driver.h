// SPDX-License-Identifier: Apache-2.0
// A device driver that computes on the host in memory of its own, and fails on demand. Devices over
// drivers are tested with it on machines without hardware.
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
  // Restores the initial state. None of its devices may be left.
  void Reset();
  const motley_driver& table() const;
  // Makes a device over the driver; `index` is among those it finds.
  static Result<std::unique_ptr<Device>> Make(Loop& loop, size_t index = 0);

  std::atomic<uint32_t> devices{1};
  std::atomic<bool> no_kernels{false};             // open fails.
  std::atomic<uint64_t> memory_bytes{1ull << 32};  // Larger allocations fail.
  std::atomic<int> fails{MOTLEY_DRIVER_OK};        // Result of the next finish, once.
  std::atomic<bool> hangs{false};                  // finish waits while this is true.
  std::atomic<bool> open_hangs{false};             // open waits while this is true.
  std::atomic<bool> close_hangs{false};            // close waits while this is true.
  std::atomic<bool> old_kernels{false};            // Kernels have the previous version.
  std::atomic<bool> pool_aborts{false};            // A thread of its own calls abort().

  // Counters of events.
  std::atomic<uint32_t> opens{0};  // Started opens.
  std::atomic<uint32_t> open_queues{0};
  std::atomic<uint32_t> finishes{0};  // Completed ones.
  std::atomic<uint64_t> held_bytes{0};
  std::atomic<uint64_t> allocations{0};
  std::atomic<uint64_t> copied_in_bytes{0};
  std::atomic<uint64_t> copied_out_bytes{0};
  std::atomic<uint64_t> marks{0};
  std::atomic<int> looking{0};              // Threads in find or describe.
  std::atomic<bool> looked_at_once{false};  // Several threads were in there at once.
};

}  // namespace motley
