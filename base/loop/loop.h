// SPDX-License-Identifier: Apache-2.0
// The seam to time and threads. One loop thread owns all control state of a node.
#pragma once

#include <cstdint>

#include "base/function.h"
#include "base/time.h"

namespace motley {

using Task = Function<void()>;
using TimerId = uint64_t;

// The one thread that owns all state, and the only clock. UvLoop in production, VirtualLoop in the
// simulator. Loop thread only, except Post, which any thread may call.
class Loop {
 public:
  virtual ~Loop() = default;

  virtual Time Now() const = 0;
  // Runs `task` once, not before `delay` (>= 0) has passed. Equal times run in the order set.
  virtual TimerId After(Duration delay, Task task) = 0;
  // No effect if the timer already ran or was cancelled.
  virtual void Cancel(TimerId id) = 0;
  // Tasks run in the order they were posted, never inside Post.
  virtual void Post(Task task) = 0;
};

}  // namespace motley
