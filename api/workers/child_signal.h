// SPDX-License-Identifier: Apache-2.0
// SIGCHLD while a job has processes of its own. The event loop handles it then, and leaves the
// default behind when the last process has gone; the program's own handler comes back after that.
#pragma once

namespace motley {

// Keeps the program's handler while the first of them lives, in whatever threads: several jobs may
// run at a time.
class ChildSignalGuard {
 public:
  ChildSignalGuard();
  ~ChildSignalGuard();
  ChildSignalGuard(const ChildSignalGuard&) = delete;
  ChildSignalGuard& operator=(const ChildSignalGuard&) = delete;
};

}  // namespace motley
