// SPDX-License-Identifier: Apache-2.0
// SIGINT, SIGTERM and, unless it is ignored, SIGHUP (the terminal is gone) end a job in good order;
// a second one ends the program at once. Both say so on stderr.
#pragma once

#include "motley/motley.h"

namespace motley {

// One at a time, on the main thread.
class StopSignals {
 public:
  StopSignals() = default;
  ~StopSignals() { Disarm(); }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // From here on a signal stops `job`, which lives until Disarm; before, it ends the program.
  // `first` and `second`: what each signal says, in 51 characters at most, which a handler cannot
  // wrap; they live until Disarm.
  void Arm(motley_job* job, const char* first, const char* second);
  void Disarm();
  int caught() const;  // The signal that stopped the job, or 0.
};

}  // namespace motley
