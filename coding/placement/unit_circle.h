// SPDX-License-Identifier: Apache-2.0
// Reed-Solomon style coefficients on the complex unit circle, as a C-form. Worker i has a node z_i
// with |z_i| = 1, C[t,i] = z_i^t for t = 0..s, and v = e_0. A partition with holders W has
//   B[i,j] = prod_{l in W, l != i} z_l / (z_l - z_i)     (Lagrange's basis at 0)
// and for missing workers S
//   a_i = prod_{l in S} (1 - z_i / z_l).
// Coordinates are packed in pairs (Field::kComplexPacked), so messages do not grow. Errors stay
// small when the holders of a partition are spread round the circle. The worst straggler sets are
// neighbours on the circle, for which |a_i| comes close to 2^s.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "coding/code_form.h"

namespace motley {

// exp(2 pi i turn).
Complex OnCircle(double turn);

// Partitions [begin, end) with the same holders.
struct HeldRun {
  PartitionId begin = 0;
  PartitionId end = 0;
  std::vector<WorkerId> holders;
};

// The functions return logarithms, since with some 800 stragglers the values exceed double's range.

// log of max |B|; infinite if holders share a node.
double LogLargestOnCircle(std::span<const Complex> nodes, std::span<const HeldRun> runs);

// log of the maximum of ||a||_inf over straggler sets of size s, exactly; at least 0.
double LogWorstWeightOnCircle(std::span<const Complex> nodes, uint32_t stragglers);

// Sets B from the runs (ascending, each with s + 1 holders), and C, v, the nodes and the field.
// With s = 0 every coefficient is 1 and the code stays real.
void SetCircleCode(std::vector<Complex> nodes, std::span<const HeldRun> runs, CodeForm& form);

}  // namespace motley
