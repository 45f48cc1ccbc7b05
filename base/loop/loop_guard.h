// SPDX-License-Identifier: Apache-2.0
// Keeps std::bad_alloc from unwinding through the event loop's C frames, since no C library
// promises to survive that. Loop thread only.
#pragma once

#include <new>

namespace motley {

class LoopGuard {
 public:
  // Runs `body`, a callback of the loop. If it runs out of memory and there is a listener, this
  // calls OnOutOfMemory and returns; without a listener the exception passes and ends the loop's
  // run. A listener that itself runs out of memory is called once more, and should not allocate
  // then.
  template <typename Body>
  void Run(Body&& body) {
    if (!listened()) return body();
    try {
      body();
    } catch (const std::bad_alloc&) {
      try {
        OnOutOfMemory();
      } catch (const std::bad_alloc&) {
        OnOutOfMemory();
      }
    }
  }

 protected:
  ~LoopGuard() = default;
  virtual bool listened() const = 0;
  virtual void OnOutOfMemory() = 0;
};

// For callbacks that have only the loop's pointer. `guard` is a LoopGuard, or null for no listener.
template <typename Body>
void RunGuarded(void* guard, Body&& body) {
  if (guard == nullptr) return body();
  static_cast<LoopGuard*>(guard)->Run(body);
}

}  // namespace motley
