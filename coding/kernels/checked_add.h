// SPDX-License-Identifier: Apache-2.0
// One pass over an answer. Each block is checked while it is loaded into the first-level cache, and
// is added to every sum from there, so that memory is read once. Any thread; spans do not overlap.
#pragma once

#include <cstddef>
#include <span>

#include "base/signs.h"
#include "coding/code_form.h"

namespace motley {

// Floats that are checked before any of them is added.
inline constexpr size_t kCheckedBlock = 512;

// The projection of the added values (sketch.h), from the same pass.
struct CheckedProjection {
  SignKey key;
  size_t first = 0;  // Sign of the first value; a multiple of kSignBlock.
  double sum = 0;    // Increased by the projection of all values, if they are within the limit.
};

struct CheckedSums {
  Field field = Field::kReal;
  std::span<const Complex> weights;  // One per sum.
  std::span<float* const> sums;
  // Packed only, or null: energy[t] gains |values[2t] + i values[2t + 1]|^2 (noise_floor.h).
  float* energy = nullptr;
  bool overwrite = false;                   // Old sums and energy are not read: they count as zero.
  CheckedProjection* projection = nullptr;  // May be null.
};

// sums[r] += weights[r] * values for all r, block by block, as long as the sum of squares so far is
// at most `limit` (finite). Returns the sum of squares in double. If that is above `limit`, or NaN
// because a value is, the block that exceeded it and all later ones were not added.
double AddChecked(const CheckedSums& into, std::span<const float> values, double limit);

namespace reference {  // The same, one value at a time in double.
double AddChecked(const CheckedSums& into, std::span<const float> values, double limit);
}  // namespace reference

}  // namespace motley
