// SPDX-License-Identifier: Apache-2.0
// Handles signals that stop a job. The first SIGINT, SIGTERM or (unless ignored) SIGHUP ends the
// job in good order; the second ends the program at once. Both print a message on stderr.
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

  // From now on a signal stops `job`, which must live until Disarm. Before Arm a signal ends the
  // program. `first` and `second` are the messages for the two signals. They have at most 51
  // characters, because a signal handler cannot wrap lines, and must live until Disarm.
  void Arm(motley_job* job, const char* first, const char* second);
  void Disarm();
  int caught() const;  // The signal that stopped the job, or 0.
};

}  // namespace motley
