// SPDX-License-Identifier: Apache-2.0
// All-reduce by recursive halving and doubling (Rabenseifner, Optimization of collective reduction
// operations, 2004), for any number of members. The number is taken apart into prime factors. At a
// level of factor f, groups of f members split what they have into f parts, and each member sums
// one of them. In the end each member has the sum of its own segment. The same way back gathers the
// segments. Every link carries 2 (n - 1) / n vectors each way; powers of two need 2 log2 n hops.
#pragma once

#include <vector>

#include "collective/algorithm.h"

namespace motley {

std::vector<Step> ButterflySteps(const Place& place);

}  // namespace motley
