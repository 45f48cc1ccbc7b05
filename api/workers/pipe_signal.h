// SPDX-License-Identifier: Apache-2.0
// SIGPIPE ends a program whose peer went. Signals are the program's affair, so a job keeps the one
// that it causes itself from being delivered, and leaves no trace of that.
#pragma once

#include <signal.h>

namespace motley {

// Blocks SIGPIPE on this thread (and those that it starts) while it lives, and takes back what
// arrived meanwhile.
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
