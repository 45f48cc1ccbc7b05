// SPDX-License-Identifier: Apache-2.0
// A worker's link carries nothing for 10 ms to 2 s.
#pragma once

#include "sim/faults/random_fault.h"

namespace motley {

extern const FaultKind kPartitionFault;

}  // namespace motley
