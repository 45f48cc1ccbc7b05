// SPDX-License-Identifier: Apache-2.0
// A worker dies. One is always left.
#pragma once

#include "sim/faults/random_fault.h"

namespace motley {

extern const FaultKind kKillFault;

}  // namespace motley
