// SPDX-License-Identifier: Apache-2.0
// Products of dense matrices: Eigen's, tile by tile. A tile is small enough that Eigen's packed
// copies fit on the stack, and large enough that packing them costs little.
#define EIGEN_DONT_PARALLELIZE
#define EIGEN_STACK_ALLOCATION_LIMIT (1 << 20)
#define EIGEN_NO_MALLOC

#include <Eigen/Core>

#include "devices/cpu/kernels/operations.h"
#include "devices/cpu/kernels/ranges.h"

namespace motley::cpu {
namespace {

using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using ColumnMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor>;
using Stride = Eigen::OuterStride<>;
using Plain = Eigen::Map<const RowMajor, 0, Stride>;
using Transposed = Eigen::Map<const ColumnMajor, 0, Stride>;
using Output = Eigen::Map<RowMajor, 0, Stride>;

constexpr size_t kTileRows = 128;
constexpr size_t kTileColumns = 256;

struct Product {
  bool transpose_a;
  bool transpose_b;
  size_t m, n, k;
  float alpha;
  const float* a;
  const float* b;
  float beta;
  float* c;
};

template <typename A, typename B>
void Multiply(const Product& p, const A& a, const B& b, Output c) {
  if (p.beta == 0) {
    c.noalias() = p.alpha * a * b;
    return;
  }
  if (p.beta != 1) c *= p.beta;
  c.noalias() += p.alpha * a * b;
}

template <typename A>
void MultiplyByB(const Product& p, const A& a, size_t column, size_t columns, Output c) {
  if (p.transpose_b) {
    Multiply(p, a, Transposed(p.b + column * p.k, p.k, columns, Stride(p.k)), c);
  } else {
    Multiply(p, a, Plain(p.b + column, p.k, columns, Stride(p.n)), c);
  }
}

// One dimension in tiles of about `tile`; the last takes the rest, which is never a single row or
// column of a matrix: those would go through Eigen's vector products, which allocate.
struct Tiling {
  size_t size;
  size_t tile;
  size_t tiles() const { return std::max<size_t>(1, (size + tile / 2) / tile); }
  size_t begin(size_t i) const { return i * tile; }
  size_t length(size_t i) const { return i + 1 < tiles() ? tile : size - begin(i); }
};

void MultiplyTile(const Product& p, size_t row, size_t rows, size_t column, size_t columns) {
  Output c(p.c + row * p.n + column, rows, columns, Stride(p.n));
  if (p.transpose_a) {
    MultiplyByB(p, Transposed(p.a + row, rows, p.k, Stride(p.m)), column, columns, c);
  } else {
    MultiplyByB(p, Plain(p.a + row * p.k, rows, p.k, Stride(p.k)), column, columns, c);
  }
}

void ScaleOnly(size_t count, float beta, float* c) {
  if (beta == 0) {
    std::fill_n(c, count, 0.0f);
  } else {
    for (size_t i = 0; i < count; ++i) c[i] *= beta;
  }
}

}  // namespace

void PrepareGemm() { Eigen::setCpuCacheSizes(32 << 10, 512 << 10, 1 << 20); }

void Gemm(void* queue, int transpose_a, int transpose_b, size_t m, size_t n, size_t k, float alpha,
          const float* a, const float* b, float beta, float* c) {
  if (m == 0 || n == 0) return;
  if (k == 0) return ScaleOnly(m * n, beta, c);
  if (n == 1) return MatrixTimesVector(queue, transpose_a != 0, m, k, alpha, a, b, beta, c);
  if (m == 1) return MatrixTimesVector(queue, transpose_b == 0, n, k, alpha, b, a, beta, c);
  const Product product{transpose_a != 0, transpose_b != 0, m, n, k, alpha, a, b, beta, c};
  const Tiling down{m, kTileRows};
  const Tiling across{n, kTileColumns};
  const size_t tile_cost = down.length(0) * across.length(0) * k / 16;
  ForBlocks(queue, down.tiles() * across.tiles(), WorthwhileGrain(1, tile_cost),
            [&](size_t begin, size_t end) {
              for (size_t tile = begin; tile < end; ++tile) {
                const size_t i = tile / across.tiles();
                const size_t j = tile % across.tiles();
                MultiplyTile(product, down.begin(i), down.length(i), across.begin(j),
                             across.length(j));
              }
            });
}

// Sums of a few hundred terms in float32 are added in float64: long sums keep their precision.
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
