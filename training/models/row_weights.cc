// SPDX-License-Identifier: Apache-2.0
#include "training/models/row_weights.h"

#include <algorithm>

#include "base/assert.h"

namespace motley {

bool AreReal(RowWeights weights) {
  return std::all_of(weights.begin(), weights.end(),
                     [](const RowWeight& run) { return run.weight.imag() == 0; });
}

CutWeights Cut(RowWeights weights, size_t begin, size_t count) {
  CutWeights cut;
  size_t at = 0;  // First row of weights[i].
  for (size_t i = 0; i < weights.size() && at < begin + count; at += weights[i++].rows) {
    const size_t from = std::max(begin, at);
    const size_t to = std::min(begin + count, at + weights[i].rows);
    if (from >= to) continue;
    if (cut.weights.empty()) cut.first = i;
    cut.weights.push_back({to - from, weights[i].weight});
  }
  return cut;
}

void MultiplyRows(Device& device, RowWeights weights, size_t columns, float* x) {
  const motley_kernels& kernels = device.kernels();
  for (const auto& [rows, weight] : weights) {
    const size_t count = rows * columns;
    const auto re = static_cast<float>(weight.real()), im = static_cast<float>(weight.imag());
    if (weight.imag() != 0) {
      MOTLEY_ASSERT(columns % 2 == 0);
      kernels.scale_pairs(device.queue(), count, re, im, x);
    } else if (weight != 1.0) {
      kernels.scale(device.queue(), count, re, x);
    }
    x += count;
  }
}

}  // namespace motley
