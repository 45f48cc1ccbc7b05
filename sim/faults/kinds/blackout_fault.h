// SPDX-License-Identifier: Apache-2.0
// All connections break at once, or carry nothing for 10 ms to 5 s.
#pragma once

#include "sim/faults/random_fault.h"

namespace motley {

extern const FaultKind kBlackoutFault;

}  // namespace motley
