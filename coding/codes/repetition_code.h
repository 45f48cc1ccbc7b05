// SPDX-License-Identifier: Apache-2.0
// Repetition with coefficients 1: no rounding beyond that of a sum.
//
// Groups (tiling form), as in fractional repetition (Tandon et al., ICML 2017): n / (s + 1) groups,
// rounded down, of workers of like speed that all hold the same partitions, as many as the group's
// slowest can compute. The slowest n mod (s + 1) workers are further members of the slowest groups.
// The first answer of each group is enough. Workers of one speed are dealt out, neighbours in
// number into different groups: neighbours were started together, often stand in one rack, and are
// slow together (`motley reproduce lambda`).
//
// Classes: s + 1 classes of workers of nearly equal total speed, each of which tiles all partitions
// in proportion to speed (for equal speeds the generalised binary code of Charalambides, Mahdavifar
// and Hero). Any s stragglers leave one class whole, and decoding needs a whole class. One
// accumulator per class. The load of the slowest class is what the classes' sums allow, at best the
// optimum (s + 1) / sum of speeds.
//
// Groups are used where they cost no speed, as for equal workers of which s + 1 divides the number,
// and from 4 (s + 1) groups on where they make the slowest load at most 10 % longer. Classes would
// have as many members as there are groups: with one in 20 workers late, a class of 85 is whole in
// 1 step of 78, and 85 groups of three all answer in 99 of 100.
#pragma once

#include "coding/gradient_code.h"

namespace motley {

Result<CodeForm> BuildRepetitionCode(const CodeRequest& request);

}  // namespace motley
