// SPDX-License-Identifier: Apache-2.0
// The innermost product: a few rows times a few vectors of columns, with all sums in registers.
// Operands are packed (gemm_pack.h). Each sum is one chain over the depth, wherever it lies in the
// matrix, so cuts between rows or columns change no bit.
#pragma once

#include <cstddef>
#include <cstring>
#include <utility>

namespace motley::cpu {

// Registers used: kMostRows * kVectors for sums, kVectors for columns, and one for a row.
#if defined(__AVX512F__)
inline constexpr size_t kLanes = 16, kMostRows = 14;
#elif defined(__AVX2__)
inline constexpr size_t kLanes = 8, kMostRows = 6;
#else
inline constexpr size_t kLanes = 4, kMostRows = 6;
#endif
inline constexpr size_t kQuad = 4;  // 128-bit lanes: shuffles within them are the cheapest.
inline constexpr size_t kVectors = 2;
inline constexpr size_t kPanel = kVectors * kLanes;  // Columns of a full panel.

typedef float Vector __attribute__((vector_size(kLanes * sizeof(float))));

inline Vector LoadVector(const float* from) {
  Vector value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
inline void StoreVector(const Vector& value, float* to) { std::memcpy(to, &value, sizeof value); }

// The destination of sums: element (i, j) is at c[i * row_stride + j * column_stride].
struct Target {
  float* c;
  size_t row_stride;
  size_t column_stride;
  size_t columns;  // Existing columns; the rest of the panel is padding.
  bool add;        // Add to the old values instead of replacing them.
};

template <size_t step, size_t... j>
void ExchangeHalves(Vector& x, Vector& y, std::index_sequence<j...>) {
  const Vector low = __builtin_shufflevector(x, y, ((j & step) ? kLanes + j - step : j)...);
  const Vector high = __builtin_shufflevector(x, y, ((j & step) ? kLanes + j : j + step)...);
  x = low;
  y = high;
}

// From each four lanes of x, picks those at `first` and first + apart, then the same from y.
template <size_t first, size_t apart, size_t... j>
Vector PickPairs(const Vector& x, const Vector& y, std::index_sequence<j...>) {
  return __builtin_shufflevector(
      x, y, (j / kQuad * kQuad + first + j % 2 * apart + j % kQuad / 2 * kLanes)...);
}

// Transposes each square of four rows by four neighbouring lanes.
inline void TransposeQuads(Vector* rows) {
  constexpr std::make_index_sequence<kLanes> kAll;
  const Vector low[] = {PickPairs<0, 1>(rows[0], rows[1], kAll),
                        PickPairs<0, 1>(rows[2], rows[3], kAll)};
  const Vector high[] = {PickPairs<2, 1>(rows[0], rows[1], kAll),
                         PickPairs<2, 1>(rows[2], rows[3], kAll)};
  rows[0] = PickPairs<0, 2>(low[0], low[1], kAll);
  rows[1] = PickPairs<1, 2>(low[0], low[1], kAll);
  rows[2] = PickPairs<0, 2>(high[0], high[1], kAll);
  rows[3] = PickPairs<1, 2>(high[0], high[1], kAll);
}

template <size_t step = kLanes / 2>
void Transpose(Vector (&rows)[kLanes]) {
  if constexpr (step < kQuad) {
#pragma GCC unroll 4
    for (size_t i = 0; i < kLanes; i += kQuad) TransposeQuads(rows + i);
  } else {
#pragma GCC unroll 16
    for (size_t i = 0; i < kLanes; ++i) {
      if ((i & step) == 0) {
        ExchangeHalves<step>(rows[i], rows[i + step], std::make_index_sequence<kLanes>());
      }
    }
    Transpose<step / 2>(rows);
  }
}

// The sums of column j are collected at flat + j * kMostLines.
inline constexpr size_t kMostLines = (kMostRows + kLanes - 1) / kLanes * kLanes;

template <size_t rows, size_t vectors>
void StoreColumns(const float (&flat)[vectors * kLanes][kMostLines], const Target& target) {
  for (size_t j = 0; j < target.columns; ++j) {
    float* to = target.c + j * target.column_stride;
    if (target.row_stride == 1) {
      for (size_t i = 0; i < rows; ++i) to[i] = target.add ? to[i] + flat[j][i] : flat[j][i];
      continue;
    }
    for (size_t i = 0; i < rows; ++i, to += target.row_stride) {
      *to = target.add ? *to + flat[j][i] : flat[j][i];
    }
  }
}

// a is packed as [depth, rows]; b is [depth, vectors * kLanes], with lines `b_stride` apart. Every
// loop over sums is unrolled; otherwise they would not stay in registers.
template <size_t rows, size_t vectors>
void MultiplyPanels(size_t depth, const float* a, const float* b, size_t b_stride,
                    const Target& target) {
  Vector sum[rows][vectors];
#pragma GCC unroll 16
  for (size_t i = 0; i < rows; ++i) {
#pragma GCC unroll 4
    for (size_t v = 0; v < vectors; ++v) {
      sum[i][v] = Vector{};
      __builtin_prefetch(target.c + i * target.row_stride + v * kLanes, 1);
    }
  }
  for (size_t k = 0; k < depth; ++k, a += rows, b += b_stride) {
    Vector column[vectors];
#pragma GCC unroll 4
    for (size_t v = 0; v < vectors; ++v) column[v] = LoadVector(b + v * kLanes);
#pragma GCC unroll 16
    for (size_t i = 0; i < rows; ++i) {
      const Vector row = a[i] - Vector{};
#pragma GCC unroll 4
      for (size_t v = 0; v < vectors; ++v) sum[i][v] += row * column[v];
    }
  }
  if (target.column_stride == 1 && target.columns == vectors * kLanes) {
#pragma GCC unroll 16
    for (size_t i = 0; i < rows; ++i) {
      float* to = target.c + i * target.row_stride;
#pragma GCC unroll 4
      for (size_t v = 0; v < vectors; ++v) {
        const Vector before = target.add ? LoadVector(to + v * kLanes) : Vector{};
        StoreVector(target.add ? before + sum[i][v] : sum[i][v], to + v * kLanes);
      }
    }
    return;
  }
  float flat[vectors * kLanes][kMostLines];
#pragma GCC unroll 4
  for (size_t v = 0; v < vectors; ++v) {
#pragma GCC unroll 4
    for (size_t first = 0; first < rows; first += kLanes) {
      Vector block[kLanes];
#pragma GCC unroll 16
      for (size_t i = 0; i < kLanes; ++i) {
        block[i] = first + i < rows ? sum[first + i < rows ? first + i : 0][v] : Vector{};
      }
      Transpose(block);
#pragma GCC unroll 16
      for (size_t j = 0; j < kLanes; ++j) StoreVector(block[j], flat[v * kLanes + j] + first);
    }
  }
  StoreColumns<rows, vectors>(flat, target);
}

using PanelProduct = void (*)(size_t depth, const float* a, const float* b, size_t b_stride,
                              const Target& target);

// The product function for `rows` (1 to kMostRows) and `vectors` (1 to kVectors).
inline PanelProduct PanelProductFor(size_t rows, size_t vectors) {
  static constexpr auto kTable = []<size_t... i>(std::index_sequence<i...>) {
    struct Table {
      PanelProduct at[sizeof...(i)][kVectors];
    };
    return Table{{{MultiplyPanels<i + 1, 1>, MultiplyPanels<i + 1, 2>}...}};
  }
  (std::make_index_sequence<kMostRows>());
  return kTable.at[rows - 1][vectors - 1];
}

}  // namespace motley::cpu
