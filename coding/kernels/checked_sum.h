// SPDX-License-Identifier: Apache-2.0
// The answer that completes a slice is not added to sums but combined with them. It is checked like
// the earlier answers (checked_add.h), in one pass that writes only the result. Any thread.
#pragma once

#include <cstddef>
#include <span>

#include "coding/code_form.h"
#include "coding/kernels/checked_add.h"

namespace motley {

// out = sum_r weights[r] * terms[r]
struct SummedPart {
  std::span<const Complex> weights;     // One per term.
  std::span<const float* const> terms;  // As long as the answer, which may be one of them.
  // At most as long, whole pairs if packed. It may be terms[0], and overlaps no other term of any
  // part.
  std::span<float> out;
};

struct CheckedParts {
  Field field = Field::kReal;
  std::span<const SummedPart> parts;
  // Packed only: coordinates of `out` below noise * sqrt(energy of their pair) become zero
  // (noise_floor.h). `energy` is that of the earlier answers, or null if there are none.
  double noise = 0;
  const float* energy = nullptr;
  CheckedProjection* projection = nullptr;  // May be null.
};

// Writes all parts, block by block, as long as the answer's sum of squares so far is at most
// `limit` (finite). Returns what AddChecked does.
double SumChecked(const CheckedParts& into, std::span<const float> answer, double limit);

}  // namespace motley
