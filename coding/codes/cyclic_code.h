// SPDX-License-Identifier: Apache-2.0
// Cyclic repetition (Tandon et al., ICML 2017, Algorithm 1). Group j of n equal groups of
// partitions is on workers j - s, ..., j (mod n). Coefficients are real and random: every row lies
// in the null space of a random s x n matrix H with H 1 = 0. Loads are equal, whatever the speeds.
//
// Rounding errors grow fast with n and s. So of 20 or more draws the one with the least
// amplification over sampled straggler sets is kept, and each row is scaled to a largest
// coefficient of 1. The code is refused if even all answers together do not decode within the
// default limits (from about 100 workers on).
#pragma once

#include "coding/gradient_code.h"

namespace motley {

Result<CodeForm> BuildCyclicCode(const CodeRequest& request);

}  // namespace motley
