// SPDX-License-Identifier: Apache-2.0
// Losses and their derivatives. Exponentials are only taken of numbers <= 0, so outputs of any size
// are safe.
#include <bit>
#include <cmath>
#include <limits>

#include "devices/cpu/kernels/operations.h"
#include "devices/cpu/kernels/ranges.h"

namespace motley::cpu {
namespace {

// exp(x) for x <= 0, within 2 units in the last place. It is 0 below the smallest normal number,
// and NaN stays. The library's exp will not do: in a vectorised loop, every value must get the same
// bits wherever it lies.
float ExpOfNegative(float x) {
  constexpr float kLowest = -87.0f;
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer.
  constexpr float kLn2High = 0.693145752f, kLn2Low = 1.42860677e-6f;
  const float bounded = x > kLowest ? x : kLowest;
  const float exponent = (bounded * 1.44269504f + kRound) - kRound;
  const float r = (bounded - exponent * kLn2High) - exponent * kLn2Low;  // |r| <= ln(2) / 2.
  float series = 1.0f / 5040;
  for (const float factor : {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f}) {
    series = series * r + factor;
  }
  series = (series * r) * r + r + 1;
  const float scale = std::bit_cast<float>((static_cast<int32_t>(exponent) + 127) << 23);
  return x != x ? x : (x < kLowest ? 0.0f : series * scale);
}

// Subtracts the row's maximum, so that the largest value is 0. Returns how far x[label] was below
// it. A row without a finite maximum, or with a NaN, becomes all NaN.
double ShiftRow(size_t columns, size_t label, float* x) {
  float largest = x[0];
  bool has_nan = false;
  for (size_t i = 0; i < columns; ++i) {
    largest = largest < x[i] ? x[i] : largest;
    has_nan |= x[i] != x[i];
  }
  if (has_nan || std::isinf(largest)) {
    std::fill_n(x, columns, std::numeric_limits<float>::quiet_NaN());
    return std::numeric_limits<double>::quiet_NaN();
  }
  const double below = double{largest} - x[label];
  for (size_t i = 0; i < columns; ++i) x[i] -= largest;
  return below;
}

// Turns exponentials into weight * (softmax - (1 at label)). Returns the logarithm of their sum.
double FinishRow(size_t columns, size_t label, float weight, float* x) {
  double sum = 0;
  for (size_t i = 0; i < columns; ++i) sum += x[i];
  const auto factor = static_cast<float>(1 / sum);
  for (size_t i = 0; i < columns; ++i) x[i] *= factor;
  x[label] -= 1;
  for (size_t i = 0; weight != 1 && i < columns; ++i) x[i] *= weight;
  return std::log(sum);
}

double SoftmaxRows(size_t rows, size_t columns, const float* label, const float* weight, float* x) {
  double loss = 0;
  for (size_t row = 0; row < rows; ++row) {
    const auto right = static_cast<size_t>(label[row]);
    const double times = weight != nullptr ? weight[right] : 1;
    loss += times * ShiftRow(columns, right, x + row * columns);
  }
  for (size_t i = 0; i < rows * columns; ++i) x[i] = ExpOfNegative(x[i]);
  for (size_t row = 0; row < rows; ++row) {
    const auto right = static_cast<size_t>(label[row]);
    const float times = weight != nullptr ? weight[right] : 1;
    loss += double{times} * FinishRow(columns, right, times, x + row * columns);
  }
  return loss;
}

}  // namespace

void SoftmaxCrossEntropy(void* queue, size_t rows, size_t columns, const float* label,
                         const float* weight, float* x, double* loss) {
  if (columns == 0) return;
  *loss +=
      SumOverBlocks(queue, rows, WorthwhileGrain(1, 8 * columns), [=](size_t begin, size_t end) {
        return SoftmaxRows(end - begin, columns, label + begin, weight, x + begin * columns);
      });
}

void LogisticLoss(void* queue, size_t rows, const float* label, const float* weight, float* x,
                  double* loss) {
  *loss += SumOverBlocks(queue, rows, 1024, [=](size_t begin, size_t end) {
    double sum = 0;
    for (size_t row = begin; row < end; ++row) {
      const double y = label[row] > 0.5f ? 1 : -1;
      const double times = weight != nullptr ? weight[label[row] > 0.5f ? 1 : 0] : 1;
      const double margin = y * x[row];
      const double small = std::exp(-std::abs(margin));
      sum += times * (std::log1p(small) + (margin < 0 ? -margin : 0));
      x[row] = static_cast<float>(times * (-y * (margin < 0 ? 1 : small) / (1 + small)));
    }
    return sum;
  });
}

void HingeLoss(void* queue, size_t rows, const float* label, const float* weight, float* x,
               double* loss) {
  *loss += SumOverBlocks(queue, rows, kWorthwhile, [=](size_t begin, size_t end) {
    double sum = 0;
    for (size_t row = begin; row < end; ++row) {
      const double y = label[row] > 0.5f ? 1 : -1;
      const double times = weight != nullptr ? weight[label[row] > 0.5f ? 1 : 0] : 1;
      const double missing = 1 - y * x[row];  // The missing part of the margin; NaN stays.
      sum += missing <= 0 ? 0 : times * missing;
      x[row] = static_cast<float>(missing <= 0 ? 0 : missing == missing ? -y * times : missing);
    }
    return sum;
  });
}

void SquaredLoss(void* queue, size_t rows, const float* label, float* x, double* loss) {
  *loss += SumOverBlocks(queue, rows, kWorthwhile, [=](size_t begin, size_t end) {
    double sum = 0;
    for (size_t row = begin; row < end; ++row) {
      x[row] -= label[row];
      sum += 0.5 * x[row] * x[row];
    }
    return sum;
  });
}

}  // namespace motley::cpu
