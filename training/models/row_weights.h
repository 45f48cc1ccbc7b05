// SPDX-License-Identifier: Apache-2.0
// Weights of a batch's rows in a sum of gradients. Rows of one term of a code are adjacent and have
// equal weights, so weights come in runs.
#pragma once

#include <complex>
#include <cstddef>
#include <span>
#include <vector>

#include "devices/device.h"

namespace motley {

// A run of rows and its weight. A complex weight multiplies a gradient's pairs of coordinates,
// g[2t] + i g[2t+1].
struct RowWeight {
  size_t rows = 0;
  std::complex<double> weight = 1;
};
using RowWeights = std::span<const RowWeight>;  // Weights of all rows of a batch, in order.

bool AreReal(RowWeights weights);

// The weights of rows [begin, begin + count); the first of these rows has weights[first].
struct CutWeights {
  size_t first = 0;
  std::vector<RowWeight> weights;
};
CutWeights Cut(RowWeights weights, size_t begin, size_t count);

// Multiplies each row of x [rows, columns], in the device's memory, by its weight. For complex
// weights `columns` must be even; a row is then columns / 2 complex numbers.
void MultiplyRows(Device& device, RowWeights weights, size_t columns, float* x);

}  // namespace motley
