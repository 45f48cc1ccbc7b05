// SPDX-License-Identifier: Apache-2.0
// Heterogeneity-aware code (Wang, Guo, Tang, Li, Li, ICDCS 2019). Worker i holds n_i partitions in
// proportion to its speed, with sum n_i = k (s + 1) and n_i <= k. One cyclic walk over the
// partitions lays them out, so that each is on s + 1 distinct workers. The paper's coefficients are
// random; these are Reed-Solomon's on the complex unit circle (unit_circle.h), which keep float
// precision.
#pragma once

#include "coding/gradient_code.h"

namespace motley {

Result<CodeForm> BuildHeterogeneousCode(const CodeRequest& request);

}  // namespace motley
