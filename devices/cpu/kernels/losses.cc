// SPDX-License-Identifier: Apache-2.0
// Losses and their derivatives, row by row. No exponential is taken of a positive number, so that
// outputs of any size are safe.
#define EIGEN_DONT_PARALLELIZE
#define EIGEN_NO_MALLOC

#include <Eigen/Core>
#include <cmath>
#include <limits>

#include "devices/cpu/kernels/operations.h"
#include "devices/cpu/kernels/ranges.h"

namespace motley::cpu {
namespace {

struct Largest {
  float value;
  bool has_nan;
};

Largest FindLargest(const float* x, size_t count) {
  Largest largest{x[0], false};
  for (size_t i = 0; i < count; ++i) {
    largest.value = largest.value < x[i] ? x[i] : largest.value;
    largest.has_nan |= x[i] != x[i];
  }
  return largest;
}

// Loss of one row; x becomes softmax(x) - (1 at label).
double SoftmaxRow(size_t columns, size_t label, float* x) {
  const Largest largest = FindLargest(x, columns);
  if (largest.has_nan || std::isinf(largest.value)) {  // Vector exponentials may swallow a NaN.
    std::fill_n(x, columns, std::numeric_limits<float>::quiet_NaN());
    return std::numeric_limits<double>::quiet_NaN();
  }
  Eigen::Map<Eigen::ArrayXf> row(x, columns);
  const double below = double{largest.value} - x[label];
  row = (row - largest.value).exp();
  double sum = 0;
  for (size_t i = 0; i < columns; ++i) sum += x[i];
  row *= static_cast<float>(1 / sum);
  x[label] -= 1;
  return std::log(sum) + below;
}

}  // namespace

void SoftmaxCrossEntropy(void* queue, size_t rows, size_t columns, const float* label, float* x,
                         double* loss) {
  if (columns == 0) return;
  *loss +=
      SumOverBlocks(queue, rows, WorthwhileGrain(8, 8 * columns), [=](size_t begin, size_t end) {
        double sum = 0;
        for (size_t row = begin; row < end; ++row) {
          sum += SoftmaxRow(columns, static_cast<size_t>(label[row]), x + row * columns);
        }
        return sum;
      });
}

void LogisticLoss(void* queue, size_t rows, const float* label, float* x, double* loss) {
  *loss += SumOverBlocks(queue, rows, 1024, [=](size_t begin, size_t end) {
    double sum = 0;
    for (size_t row = begin; row < end; ++row) {
      const double y = label[row] > 0.5f ? 1 : -1;
      const double margin = y * x[row];
      const double small = std::exp(-std::abs(margin));
      sum += std::log1p(small) + (margin < 0 ? -margin : 0);
      x[row] = static_cast<float>(-y * (margin < 0 ? 1 : small) / (1 + small));
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
