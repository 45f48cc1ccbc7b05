// SPDX-License-Identifier: Apache-2.0
// A worker is 2 to 10 times slower, for 0.1 to 5 s.
#pragma once

#include "sim/faults/random_fault.h"

namespace motley {

extern const FaultKind kSlowFault;

}  // namespace motley
