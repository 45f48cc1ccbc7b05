// SPDX-License-Identifier: Apache-2.0
// Repetition with coefficients 1: decoding is a plain sum.
//
// Groups (tiling form), as in fractional repetition (Tandon et al., ICML 2017): workers of similar
// speed form n / (s + 1) groups, rounded down. All members of a group hold the same partitions, as
// many as the slowest member can compute. The slowest n mod (s + 1) workers are extra members of
// the slowest groups. The first answer of each group is enough. Workers of equal speed with
// neighbouring numbers are put into different groups: they were started together, often share a
// rack, and become slow together (`motley reproduce lambda`).
//
// Classes: s + 1 classes of workers have nearly equal total speeds, and each class tiles all
// partitions in proportion to speed (for equal speeds the generalised binary code of Charalambides,
// Mahdavifar and Hero). Any s stragglers leave one class whole, and decoding needs a whole class.
// There is one accumulator per class. The load of the slowest class depends on how evenly the
// speeds can be split; the optimum is (s + 1) / sum of speeds.
//
// Groups are used if they cost no speed, for example when s + 1 divides the number of equal
// workers. From 4 (s + 1) groups on they are also used if they make the slowest load at most 10 %
// longer. The reason is that a class has as many members as there are groups: with one in 20
// workers late, a class of 85 is whole in 1 step of 78, but 85 groups of three all answer in 99 of
// 100.
#pragma once

#include "coding/gradient_code.h"

namespace motley {

Result<CodeForm> BuildRepetitionCode(const CodeRequest& request);

}  // namespace motley
