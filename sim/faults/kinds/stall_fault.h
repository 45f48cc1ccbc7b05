// SPDX-License-Identifier: Apache-2.0
// One of two joined devices reports nothing for 1.5 to 3 s, and then everything. This is long
// enough for the other device to take over its work, and too short to count as a loss.
#pragma once

#include "sim/faults/random_fault.h"

namespace motley {

extern const FaultKind kStallFault;

}  // namespace motley
