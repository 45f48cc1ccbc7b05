// SPDX-License-Identifier: Apache-2.0
// Products with a sparse matrix. Sums are kept in float64 on the stack, because a column may have
// an entry in every row.
#define EIGEN_DONT_PARALLELIZE
#define EIGEN_NO_MALLOC

#include <Eigen/Core>
#include <algorithm>

#include "devices/cpu/kernels/operations.h"
#include "devices/cpu/kernels/ranges.h"

namespace motley::cpu {
namespace {

float Combine(float alpha, double sum, float beta, const float* c) {
  return static_cast<float>(beta == 0 ? alpha * sum : alpha * sum + beta * double{*c});
}

double RowTimesVector(const motley_csr& a, size_t row, const float* b) {
  double sum = 0;
  for (uint64_t e = a.row_begin[row]; e < a.row_begin[row + 1]; ++e) {
    sum += double{a.value[e]} * b[a.column[e]];
  }
  return sum;
}

// to[j] = (row of a) * b[:, j] for j < width; short sums stay in float32 registers.
template <size_t width>
void RowTimesColumns(const motley_csr& a, size_t row, size_t n, float alpha, const float* b,
                     float beta, float* to) {
  constexpr uint64_t kTerms = 256;
  using Block = Eigen::Array<float, width, 1>;
  Eigen::Array<double, width, 1> sum = Eigen::Array<double, width, 1>::Zero();
  const uint64_t last = a.row_begin[row + 1];
  for (uint64_t begin = a.row_begin[row]; begin < last; begin += kTerms) {
    Block part = Block::Zero();
    for (uint64_t e = begin; e < std::min(last, begin + kTerms); ++e) {
      part += a.value[e] * Eigen::Map<const Block>(b + a.column[e] * n);
    }
    sum += part.template cast<double>();
  }
  for (size_t j = 0; j < width; ++j) to[j] = Combine(alpha, sum[j], beta, to + j);
}

void RowTimesMatrix(const motley_csr& a, size_t row, size_t n, float alpha, const float* b,
                    float beta, float* to) {
  size_t j = 0;
  for (; n - j >= 32; j += 32) RowTimesColumns<32>(a, row, n, alpha, b + j, beta, to + j);
  for (; n - j >= 8; j += 8) RowTimesColumns<8>(a, row, n, alpha, b + j, beta, to + j);
  for (; n - j >= 2; j += 2) RowTimesColumns<2>(a, row, n, alpha, b + j, beta, to + j);
  if (j < n) RowTimesColumns<1>(a, row, n, alpha, b + j, beta, to + j);
}

// sum[end - begin, width] = columns [begin, end) of a, times b[:, first .. first + width). Rows are
// processed in order, so the range does not change a sum.
void ColumnsTimesDense(const motley_csr& a, size_t begin, size_t end, size_t n, const float* b,
                       size_t width, double* sum) {
  for (size_t row = 0; row < a.rows; ++row) {
    const uint32_t* entry = a.column + a.row_begin[row];
    const uint32_t* last = a.column + a.row_begin[row + 1];
    if (begin > 0) entry = std::lower_bound(entry, last, begin);
    const float* factor = b + row * n;
    if (width == 1) {
      for (; entry < last && *entry < end; ++entry) {
        sum[*entry - begin] += double{a.value[entry - a.column]} * *factor;
      }
      continue;
    }
    for (; entry < last && *entry < end; ++entry) {
      const double value = a.value[entry - a.column];
      double* to = sum + (*entry - begin) * width;
      for (size_t j = 0; j < width; ++j) to[j] += value * factor[j];
    }
  }
}

}  // namespace

void CsrTimesDense(void* queue, const motley_csr* a, size_t n, float alpha, const float* b,
                   float beta, float* c) {
  if (n == 0) return;
  ForBlocks(queue, a->rows, WorthwhileGrain(64, 4 * n), [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      float* to = c + row * n;
      if (n == 1) {
        *to = Combine(alpha, RowTimesVector(*a, row, b), beta, to);
      } else {
        RowTimesMatrix(*a, row, n, alpha, b, beta, to);
      }
    }
  });
}

void CsrTransposedTimesDense(void* queue, const motley_csr* a, size_t n, float alpha,
                             const float* b, float* c) {
  constexpr size_t kSums = 16384;
  constexpr size_t kMostColumns = 1024;
  for (size_t first = 0; first < n; first += kMostColumns) {
    const size_t width = std::min(kMostColumns, n - first);
    ForBlocks(queue, a->columns, kSums / width, [&](size_t begin, size_t end) {
      double sum[kSums];
      std::fill_n(sum, (end - begin) * width, 0.0);
      ColumnsTimesDense(*a, begin, end, n, b + first, width, sum);
      for (size_t column = begin; column < end; ++column) {
        const double* from = sum + (column - begin) * width;
        float* to = c + column * n + first;
        for (size_t j = 0; j < width; ++j) {
          if (from[j] != 0) to[j] = Combine(alpha, from[j], 1, to + j);
        }
      }
    });
  }
}

}  // namespace motley::cpu
