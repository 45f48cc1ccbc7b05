// SPDX-License-Identifier: Apache-2.0
// Weights in the format of the vector kernels: one float per sum, or (re, im) per sum when packed.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "coding/code_form.h"

namespace motley {

// Copies the weights. A few need no heap memory, since short vectors are added often.
class WeightFloats {
 public:
  WeightFloats() = default;  // Set later by assignment.
  WeightFloats(Field field, std::span<const Complex> weights) {
    const bool packed = field == Field::kComplexPacked;
    const size_t floats = packed ? 2 * weights.size() : weights.size();
    if (floats > few_.size()) many_.resize(floats);
    float* next = floats > few_.size() ? many_.data() : few_.data();
    for (const Complex& weight : weights) {
      *next++ = static_cast<float>(weight.real());
      if (packed) *next++ = static_cast<float>(weight.imag());
    }
  }

  const float* data() const { return many_.empty() ? few_.data() : many_.data(); }

 private:
  std::array<float, 8> few_;
  std::vector<float> many_;
};

}  // namespace motley
