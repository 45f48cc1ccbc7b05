// SPDX-License-Identifier: Apache-2.0
// One pass over an answer: each block of it is checked while it comes into the first-level cache
// and added to every sum from there, so that memory is read once. Any thread; nothing overlaps.
#pragma once

#include <cstddef>
#include <span>

#include "base/signs.h"
#include "coding/code_form.h"

namespace motley {

// Floats that are checked before any of them is added.
inline constexpr size_t kCheckedBlock = 512;

// The projection of what is added (sketch.h), in the same pass.
struct CheckedProjection {
  SignKey key;
  size_t first = 0;  // Sign of the first value; a multiple of kSignBlock.
  double sum = 0;    // To be added to; of all values, if they were within the limit.
};

struct CheckedSums {
  Field field = Field::kReal;
  std::span<const Complex> weights;  // One per sum.
  std::span<float* const> sums;
  // Packed only, or null: energy[t] gains |values[2t] + i values[2t + 1]|^2 (noise_floor.h).
  float* energy = nullptr;
  bool overwrite = false;  // What stands in sums and energy is not read: it counts as zero.
  CheckedProjection* projection = nullptr;  // Or null.
};

// sums[r] += weights[r] * values for all r, block by block, as long as the sum of squares so far is
// at most `limit` (finite). Returns the sum of squares, in double: when it is not at most `limit`
// (NaN when a value is), the block that went beyond it and what follows were not added.
double AddChecked(const CheckedSums& into, std::span<const float> values, double limit);

namespace reference {  // The same, one value at a time in double.
double AddChecked(const CheckedSums& into, std::span<const float> values, double limit);
}  // namespace reference

}  // namespace motley
