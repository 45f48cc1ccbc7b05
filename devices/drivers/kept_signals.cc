// SPDX-License-Identifier: Apache-2.0
#include "devices/drivers/kept_signals.h"

#include <initializer_list>

namespace motley {
namespace {

bool IsFault(int number) {
  for (const int fault : {SIGFPE, SIGSEGV, SIGBUS, SIGILL, SIGTRAP}) {
    if (number == fault) return true;
  }
  return false;
}

}  // namespace

KeptSignals::KeptSignals() {
  for (int number = 1; number < NSIG; ++number) sigaction(number, nullptr, &kept_[number]);
}

// The calls fail harmlessly for the signals that the C library reserves.
KeptSignals::~KeptSignals() {
  for (int number = 1; number < NSIG; ++number) {
    if (!IsFault(number)) sigaction(number, &kept_[number], nullptr);
  }
}

}  // namespace motley
