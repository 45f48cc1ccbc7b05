// SPDX-License-Identifier: Apache-2.0
// Weights as vector kernels take them: one float per sum, or (re, im) per sum when packed.
#pragma once

#include <span>
#include <vector>

#include "coding/code_form.h"

namespace motley {

inline std::vector<float> WeightFloats(Field field, std::span<const Complex> weights) {
  std::vector<float> floats;
  floats.reserve(2 * weights.size());
  for (const Complex& weight : weights) {
    floats.push_back(static_cast<float>(weight.real()));
    if (field == Field::kComplexPacked) floats.push_back(static_cast<float>(weight.imag()));
  }
  return floats;
}

}  // namespace motley
