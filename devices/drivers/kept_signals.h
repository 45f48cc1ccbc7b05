// SPDX-License-Identifier: Apache-2.0
// What signals do belongs to the program, whatever the libraries of a driver set up: compilers in
// them catch even what the program ignores.
#pragma once

#include <signal.h>

#include <array>

namespace motley {

// What each signal did when this was made, it does again once this is gone; of the processor's own
// faults (SIGFPE, SIGSEGV and the like) drivers may make use. Meanwhile no other thread may change
// what signals do.
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
