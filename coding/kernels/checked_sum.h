// SPDX-License-Identifier: Apache-2.0
// The answer with which a slice decodes is not added to sums: it is combined with them, checked
// like those before it (checked_add.h), in one pass that writes nothing but the result. Any thread.
#pragma once

#include <cstddef>
#include <span>

#include "coding/code_form.h"
#include "coding/kernels/checked_add.h"

namespace motley {

// out = sum_r weights[r] * terms[r].
struct SummedPart {
  std::span<const Complex> weights;     // One per term.
  std::span<const float* const> terms;  // As long as the answer, which may be one of them.
  // At most as long, whole pairs if packed; may be terms[0], and overlaps no other of any part.
  std::span<float> out;
};

struct CheckedParts {
  Field field = Field::kReal;
  std::span<const SummedPart> parts;
  // Packed only: coordinates of `out` below noise * sqrt(energy of their pair) become zero
  // (noise_floor.h). The energy of the answers before this one, or null where there were none.
  double noise = 0;
  const float* energy = nullptr;
  CheckedProjection* projection = nullptr;  // Or null.
};

// Writes all parts, block by block, as long as the answer's sum of squares so far is at most
// `limit` (finite). Returns what AddChecked does.
double SumChecked(const CheckedParts& into, std::span<const float> answer, double limit);

}  // namespace motley
