// SPDX-License-Identifier: Apache-2.0
// A worker's connection breaks; the server may not notice.
#pragma once

#include "sim/faults/random_fault.h"

namespace motley {

extern const FaultKind kCutFault;

}  // namespace motley
