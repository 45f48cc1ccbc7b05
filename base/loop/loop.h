// SPDX-License-Identifier: Apache-2.0
// The interface to time and threads. One loop thread owns all control state of a node.
#pragma once

#include <cstdint>

#include "base/function.h"
#include "base/time.h"

namespace motley {

using Task = Function<void()>;
using TimerId = uint64_t;

// An event loop: the only clock and the only source of callbacks. UvLoop implements it in
// production, VirtualLoop in the simulator. Every call comes from the loop thread, except Post,
// which any thread may call.
class Loop {
 public:
  virtual ~Loop() = default;

  virtual Time Now() const = 0;
  // Runs `task` once, after at least `delay` (>= 0). Tasks due at the same time run in the order
  // set.
  virtual TimerId After(Duration delay, Task task) = 0;
  // No effect if the timer already ran or was cancelled.
  virtual void Cancel(TimerId id) = 0;
  // Tasks run in the order they were posted, never inside Post.
  virtual void Post(Task task) = 0;
};

}  // namespace motley
