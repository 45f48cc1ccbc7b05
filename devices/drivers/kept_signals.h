// SPDX-License-Identifier: Apache-2.0
// Signal handlers belong to the program. Libraries of drivers install their own: some compilers
// among them even catch signals that the program ignores.
#pragma once

#include <signal.h>

#include <array>

namespace motley {

// Restores on destruction every signal's action as of the construction. The processor's own faults
// (SIGFPE, SIGSEGV and the like) are exempt, because drivers may use them. No other thread may
// change signal actions meanwhile.
class KeptSignals {
 public:
  KeptSignals();
  ~KeptSignals();
  KeptSignals(const KeptSignals&) = delete;
  KeptSignals& operator=(const KeptSignals&) = delete;

 private:
  std::array<struct sigaction, NSIG> kept_{};
};

}  // namespace motley
