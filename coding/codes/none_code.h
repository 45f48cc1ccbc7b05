// SPDX-License-Identifier: Apache-2.0
// No redundancy. Every worker has one run of partitions in proportion to its speed, coefficients
// are 1, and all answers are needed.
#pragma once

#include "coding/gradient_code.h"

namespace motley {

Result<CodeForm> BuildNoneCode(const CodeRequest& request);

}  // namespace motley
