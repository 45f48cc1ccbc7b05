// SPDX-License-Identifier: Apache-2.0
// Keeps std::bad_alloc from unwinding through the event loop's C frames, which no library promises
// to survive. Loop thread only.
#pragma once

#include <new>

namespace motley {

class LoopGuard {
 public:
  // Runs `body`, a callback of the loop. When memory runs out in it and somebody listens for that,
  // they are told and this returns; otherwise the exception passes, and ends the loop's run. A
  // listener that runs out of memory itself is told once more, and should not need any then.
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

// For callbacks that have only the loop. `guard` is a LoopGuard, or null: then nobody listens.
template <typename Body>
void RunGuarded(void* guard, Body&& body) {
  if (guard == nullptr) return body();
  static_cast<LoopGuard*>(guard)->Run(body);
}

}  // namespace motley
