// SPDX-License-Identifier: Apache-2.0
// A worker's answer is not finite.
#pragma once

#include "sim/faults/random_fault.h"

namespace motley {

extern const FaultKind kNanFault;

}  // namespace motley
