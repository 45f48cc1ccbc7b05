// SPDX-License-Identifier: Apache-2.0
// Heterogeneity-aware code (Wang, Guo, Tang, Li, Li, ICDCS 2019): worker i holds n_i partitions in
// proportion to its speed, sum n_i = k (s + 1), n_i <= k, laid out in one cyclic walk over the
// partitions, so that each is on s + 1 distinct workers. Coefficients are not the paper's random
// ones but Reed-Solomon's on the complex unit circle (unit_circle.h), which keep float precision.
#pragma once

#include "coding/gradient_code.h"

namespace motley {

Result<CodeForm> BuildHeterogeneousCode(const CodeRequest& request);

}  // namespace motley
