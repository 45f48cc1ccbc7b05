// SPDX-License-Identifier: Apache-2.0
// Keeps exceptions from unwinding through the event loop's C frames, since no C library promises to
// survive that. Loop thread only.
#pragma once

#include <exception>
#include <new>

namespace motley {

class LoopGuard {
 public:
  // Runs `body`, a callback of the loop. If it throws, this calls one of the functions below.
  template <typename Body>
  void Run(Body&& body) {
    try {
      body();
    } catch (const std::bad_alloc&) {
      OnOutOfMemory(std::current_exception());
    } catch (...) {
      OnFailure(std::current_exception());
    }
  }

 protected:
  ~LoopGuard() = default;
  // These throw nothing.
  virtual void OnOutOfMemory(std::exception_ptr why) = 0;
  virtual void OnFailure(std::exception_ptr why) = 0;
};

// For callbacks that have only the loop's pointer. `guard` is a LoopGuard, or null for none.
template <typename Body>
void RunGuarded(void* guard, Body&& body) {
  if (guard == nullptr) return body();
  static_cast<LoopGuard*>(guard)->Run(body);
}

}  // namespace motley
