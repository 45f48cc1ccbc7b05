// SPDX-License-Identifier: Apache-2.0
// Survives drivers that call abort(), which some do when the disk is full or one of their files is
// damaged. A program can choose that this ends the work on the driver's devices only
// (docs/decisions/0022).
#pragma once

#include "base/status.h"

namespace motley {

// For programs only: a library leaves signals to its program. Call it on the first thread, before
// there are others. From then on, a driver's thread that calls abort() is stopped until the program
// ends, like one that hangs. If nobody calls DriverEnded within a minute, the program ends after
// all, because it may be out of memory. A driver that calls exit() ends the program, and a message
// names it. Faults (SIGSEGV and the like) end the program as usual: its memory cannot be trusted
// then.
void CatchDriverAborts();

// An error once a thread of that driver has called abort(): its devices no longer work. `driver` is
// motley_driver.name. Any thread.
Status DriverEnded(const char* driver);

struct DriverMark;

// Marks this thread as inside the driver during its lifetime. `driver` must stay valid.
class InDriver {
 public:
  explicit InDriver(const char* driver);
  ~InDriver();
  InDriver(const InDriver&) = delete;
  InDriver& operator=(const InDriver&) = delete;

 private:
  DriverMark* const before_;
};

// Like InDriver, but threads started meanwhile also belong to the driver, for good. They are
// recognised by the name they inherit from the thread that starts them: "motley opencl".
class StartsDriverThreads {
 public:
  explicit StartsDriverThreads(const char* driver);
  ~StartsDriverThreads();
  StartsDriverThreads(const StartsDriverThreads&) = delete;
  StartsDriverThreads& operator=(const StartsDriverThreads&) = delete;

 private:
  const InDriver inside_;
  char name_before_[16] = {};
};

}  // namespace motley
