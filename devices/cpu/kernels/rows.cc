// SPDX-License-Identifier: Apache-2.0
// Kernels that process each row of a matrix separately.
#include <cmath>
#include <cstddef>

#include "devices/cpu/kernels/operations.h"
#include "devices/cpu/kernels/ranges.h"

namespace motley::cpu {
namespace {

// The sum of term(0) to term(count - 1), in several independent chains.
template <typename Term>
double SumOf(size_t count, const Term& term) {
  constexpr size_t kSums = 8;
  double sums[kSums] = {};
  size_t i = 0;
  for (; i + kSums <= count; i += kSums) {
    for (size_t j = 0; j < kSums; ++j) sums[j] += term(i + j);
  }
  for (; i < count; ++i) sums[0] += term(i);
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

template <typename Body>
void ForRows(void* queue, size_t rows, size_t columns, const Body& body) {
  ForBlocks(queue, rows, WorthwhileGrain(1, columns), [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) body(row);
  });
}

}  // namespace

void AddRowSums(void* queue, size_t rows, size_t columns, float alpha, const float* x, float* sum) {
  ForRows(queue, rows, columns, [=](size_t row) {
    const float* from = x + row * columns;
    const double total = SumOf(columns, [=](size_t c) { return double{from[c]}; });
    sum[row] = static_cast<float>(sum[row] + alpha * total);
  });
}

void ScaleRows(void* queue, size_t rows, size_t columns, const float* factor, const float* x,
               float* y) {
  ForRows(queue, rows, columns, [=](size_t row) {
    const float by = factor[row];
    for (size_t i = row * columns; i < (row + 1) * columns; ++i) y[i] = by * x[i];
  });
}

void LayerNorm(void* queue, size_t rows, size_t columns, float epsilon, const float* gain,
               const float* bias, float* x, float* inverse, float* out) {
  if (columns == 0) return;
  ForRows(queue, rows, 4 * columns, [=](size_t row) {
    float* values = x + row * columns;
    float* to = out + row * columns;
    const auto count = static_cast<double>(columns);
    const double mean = SumOf(columns, [=](size_t c) { return double{values[c]}; }) / count;
    const double squares = SumOf(columns, [=](size_t c) {
      const double distance = values[c] - mean;
      return distance * distance;
    });
    const double scale = 1 / std::sqrt(squares / count + epsilon);
    inverse[row] = static_cast<float>(scale);
    for (size_t c = 0; c < columns; ++c) {
      const auto normal = static_cast<float>((values[c] - mean) * scale);
      values[c] = normal;
      to[c] = gain[c] * normal + bias[c];
    }
  });
}

void LayerNormBackward(void* queue, size_t rows, size_t columns, const float* gain,
                       const float* inverse, float* normal, float* delta) {
  if (columns == 0) return;
  ForRows(queue, rows, 4 * columns, [=](size_t row) {
    float* values = normal + row * columns;
    float* slopes = delta + row * columns;
    const auto count = static_cast<double>(columns);
    const double mean =
        SumOf(columns, [=](size_t c) { return double{gain[c]} * slopes[c]; }) / count;
    const double along =
        SumOf(columns, [=](size_t c) { return double{gain[c]} * slopes[c] * values[c]; }) / count;
    const double scale = inverse[row];
    for (size_t c = 0; c < columns; ++c) {
      const float slope = slopes[c];
      slopes[c] = static_cast<float>(scale * (double{gain[c]} * slope - mean - along * values[c]));
      values[c] *= slope;
    }
  });
}

}  // namespace motley::cpu
