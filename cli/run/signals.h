// SPDX-License-Identifier: Apache-2.0
// Signals to `motley run` and `motley sweep`, whose children have process groups of their own.
// SIGINT, SIGTERM and, unless it was ignored before, SIGHUP end them. SIGTSTP (Ctrl-Z) stops all
// processes until they are continued.
#pragma once

#include <functional>
#include <memory>

#include "base/status.h"
#include "runtime/uv_loop.h"

namespace motley {

// Loop thread.
class Signals {
 public:
  // `caught` gets each signal, but not the same one again within 0.3 s: timeout(1) and others send
  // theirs twice, to the program and to its group. `pass_on` sends a signal to all children:
  // SIGSTOP before this process stops, and SIGCONT when it goes on.
  static Result<std::unique_ptr<Signals>> Open(UvLoop& loop, std::function<void(int)> caught,
                                               std::function<void(int)> pass_on);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

 private:
  struct Impl;
  explicit Signals(Impl* impl) : impl_(impl) {}
  Impl* impl_;  // Frees itself when libuv has closed its handles.
};

}  // namespace motley
