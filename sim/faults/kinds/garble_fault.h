// SPDX-License-Identifier: Apache-2.0
// A slice of a worker's answer is damaged where no checksum sees it, and keeps its norm.
#pragma once

#include "sim/faults/random_fault.h"

namespace motley {

extern const FaultKind kGarbleFault;

}  // namespace motley
