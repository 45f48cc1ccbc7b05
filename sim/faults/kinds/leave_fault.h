// SPDX-License-Identifier: Apache-2.0
// A worker leaves, and half of those come back. One is always left.
#pragma once

#include "sim/faults/random_fault.h"

namespace motley {

extern const FaultKind kLeaveFault;

}  // namespace motley
