// SPDX-License-Identifier: Apache-2.0
// motley_job_stop: asked for from any thread or signal handler, heard on the loop.
#pragma once

#include <uv.h>

#include <atomic>

#include "base/loop/loop.h"
#include "base/status.h"
#include "runtime/uv_loop.h"

namespace motley {

// Outlives its loop, which closes what it opened there.
class StopSwitch {
 public:
  StopSwitch() = default;
  StopSwitch(const StopSwitch&) = delete;
  StopSwitch& operator=(const StopSwitch&) = delete;

  // kResource. Loop thread, before the loop runs; it may have been thrown by then.
  Status Open(UvLoop& loop);
  // Any thread, at any time; async-signal-safe.
  void Throw() noexcept;
  int thrown() const { return thrown_; }  // How often.
  // Loop thread. Runs `heard` on the loop after each Throw (several may be heard as one); null:
  // nothing.
  void Listen(Task heard) { heard_ = std::move(heard); }

 private:
  uv_async_t signal_{};
  std::atomic<bool> open_{false};
  std::atomic<int> thrown_{0};
  Task heard_;
};

}  // namespace motley
