// SPDX-License-Identifier: Apache-2.0
// A worker's device hangs or fails, for good. One worker is always left.
#pragma once

#include "sim/faults/random_fault.h"

namespace motley {

extern const FaultKind kBreakFault;

}  // namespace motley
