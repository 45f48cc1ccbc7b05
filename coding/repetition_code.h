// SPDX-License-Identifier: Apache-2.0
// Repetition with coefficients 1: no rounding beyond that of a sum.
//
// Equal speeds and (s + 1) | n: fractional repetition (Tandon et al., ICML 2017): n / (s + 1)
// groups of s + 1 workers that hold the same partitions; tiling form. They are dealt out, worker i
// to group i mod n / (s + 1): those with neighbouring numbers were started together, often stand in
// one rack, and are slow together (`motley reproduce lambda`). Otherwise s + 1 classes of
// workers of nearly equal total speed, each of which tiles all partitions in proportion to speed
// (for equal speeds the generalised binary code of Charalambides, Mahdavifar and Hero): any s
// stragglers leave one class whole. One accumulator per class. The load of the slowest class is
// what the classes' sums allow, at best the optimum (s + 1) / sum of speeds.
#pragma once

#include "coding/gradient_code.h"

namespace motley {

Result<CodeForm> BuildRepetitionCode(const CodeRequest& request);

}  // namespace motley
