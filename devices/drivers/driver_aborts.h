// SPDX-License-Identifier: Apache-2.0
// Drivers that call abort(), as some do at a full disk or a damaged file of theirs: a program can
// have that end the work of their devices, and not the program (docs/decisions/0022).
#pragma once

#include "base/status.h"

namespace motley {

// The program's first thread, before it has others; a library leaves signals to its program. From
// now on a thread of a driver's that calls abort() stays where it is until the program ends, as one
// that hangs does. If nobody has asked DriverEnded within a minute, the program ends after all: it
// may be that memory cannot be had any more. One that calls exit() ends the program, and it is said
// whose it was. Faults (SIGSEGV and the like) end it as ever: what was in memory cannot be trusted
// then.
void CatchDriverAborts();

// Not fine once a thread of that driver's has called abort(): none of its devices works any more.
// `driver`: motley_driver.name. Any thread.
Status DriverEnded(const char* driver);

struct DriverMark;

// While it lives, this thread is inside of the driver. `driver` stays valid.
class InDriver {
 public:
  explicit InDriver(const char* driver);
  ~InDriver();
  InDriver(const InDriver&) = delete;
  InDriver& operator=(const InDriver&) = delete;

 private:
  DriverMark* const before_;
};

// The same; and threads that are started meanwhile are the driver's for good. They are known by
// their name, which they have of the one that starts them: "motley opencl".
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
