// SPDX-License-Identifier: Apache-2.0
// Implements motley_job_stop. Any thread or signal handler may throw the switch; the loop reacts to
// it.
#pragma once

#include <uv.h>

#include <atomic>

#include "base/loop/loop.h"
#include "base/status.h"
#include "runtime/uv_loop.h"

namespace motley {

// Must outlive its loop, because the loop closes the handle that the switch opened.
class StopSwitch {
 public:
  StopSwitch() = default;
  StopSwitch(const StopSwitch&) = delete;
  StopSwitch& operator=(const StopSwitch&) = delete;

  // Loop thread, before the loop runs. The switch may be thrown already. kResource: no handle.
  Status Open(UvLoop& loop);
  // Any thread, at any time; async-signal-safe.
  void Throw() noexcept;
  int thrown() const { return thrown_; }  // Number of throws.
  // Loop thread. Runs `heard` on the loop after each Throw. Several throws may cause one call.
  // Null: no calls.
  void Listen(Task heard) { heard_ = std::move(heard); }

 private:
  uv_async_t signal_{};
  std::atomic<bool> open_{false};
  std::atomic<int> thrown_{0};
  Task heard_;
};

}  // namespace motley
