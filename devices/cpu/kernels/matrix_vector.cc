// SPDX-License-Identifier: Apache-2.0
#define EIGEN_DONT_PARALLELIZE
#define EIGEN_NO_MALLOC

#include <Eigen/Core>
#include <algorithm>

#include "devices/cpu/kernels/operations.h"
#include "devices/cpu/kernels/ranges.h"

namespace motley::cpu {
namespace {

using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using ColumnMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor>;
using Stride = Eigen::OuterStride<>;
using Plain = Eigen::Map<const RowMajor, 0, Stride>;
using Transposed = Eigen::Map<const ColumnMajor, 0, Stride>;

}  // namespace

// Adds float32 sums of a few hundred terms in float64, so that long sums keep their precision.
void MatrixTimesVector(void* queue, bool transpose, size_t m, size_t k, float alpha, const float* a,
                       const float* x, float beta, float* c) {
  constexpr size_t kOutputs = 256;
  const size_t terms = transpose ? 256 : 1024;
  const auto block = [&](size_t row, size_t rows) {
    float part[kOutputs];
    double sum[kOutputs] = {};
    Eigen::Map<Eigen::VectorXf> partial(part, rows);
    for (size_t begin = 0; begin < k; begin += terms) {
      const size_t depth = std::min(terms, k - begin);
      const Eigen::Map<const Eigen::VectorXf> factor(x + begin, depth);
      if (transpose) {
        partial.noalias() = Transposed(a + begin * m + row, rows, depth, Stride(m)) * factor;
      } else {
        partial.noalias() = Plain(a + row * k + begin, rows, depth, Stride(k)) * factor;
      }
      for (size_t i = 0; i < rows; ++i) sum[i] += part[i];
    }
    for (size_t i = 0; i < rows; ++i) {
      const double product = alpha * sum[i];
      c[row + i] = static_cast<float>(beta == 0 ? product : product + beta * double{c[row + i]});
    }
  };
  ForBlocks(queue, m, WorthwhileGrain(kOutputs, k / 4), [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; row += kOutputs) block(row, std::min(kOutputs, end - row));
  });
}

}  // namespace motley::cpu
