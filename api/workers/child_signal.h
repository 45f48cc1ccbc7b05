// SPDX-License-Identifier: Apache-2.0
// Preserves a program's SIGCHLD handler while a job has child processes. The event loop handles the
// signal then, and restores only the default when its last child is gone.
#pragma once

namespace motley {

// The first living guard of any thread saves the program's handler, and the last one restores it.
// Several jobs may run at a time.
class ChildSignalGuard {
 public:
  ChildSignalGuard();
  ~ChildSignalGuard();
  ChildSignalGuard(const ChildSignalGuard&) = delete;
  ChildSignalGuard& operator=(const ChildSignalGuard&) = delete;
};

}  // namespace motley
