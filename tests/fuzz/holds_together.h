// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "data/dataset.h"

namespace motley::fuzz {

// Ends the program unless every count, index, value and label of `data` is as dataset.h says.
void ExpectHoldsTogether(const Dataset& data);

}  // namespace motley::fuzz
