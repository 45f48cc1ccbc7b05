// SPDX-License-Identifier: Apache-2.0
// Shields a program from the SIGPIPE of a job's connections. SIGPIPE ends a program by default, and
// signal handlers belong to the program. So a job blocks the signals that it causes, and leaves no
// trace of them.
#pragma once

#include <signal.h>

namespace motley {

// Blocks SIGPIPE on this thread, and on threads that it starts, while the guard lives. Then it
// removes the signals that arrived meanwhile.
class PipeSignalGuard {
 public:
  PipeSignalGuard();
  ~PipeSignalGuard();
  PipeSignalGuard(const PipeSignalGuard&) = delete;
  PipeSignalGuard& operator=(const PipeSignalGuard&) = delete;

 private:
  sigset_t before_{};
  bool pending_before_ = false;
};

}  // namespace motley
