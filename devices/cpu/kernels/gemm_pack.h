// SPDX-License-Identifier: Apache-2.0
// Copies parts of a matrix into the order in which the innermost product (gemm_tile.h) reads them:
// panels of some lines (rows of a, or columns of b), each panel stored as [depth, lines].
#pragma once

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <cstddef>
#include <utility>

#include "devices/cpu/kernels/gemm_tile.h"

namespace motley::cpu {

// A factor seen as lines of `depth` values. Value k of line l is at data[l * stride + k] if `deep`,
// else at data[k * stride + l].
struct Factor {
  const float* data;
  size_t stride;
  bool deep;

  const float* At(size_t line, size_t k) const {
    return deep ? data + line * stride + k : data + k * stride + line;
  }
};

// Loads four values from each of lines 0, 4, 8, ... in sequence. Transposing these quads then
// transposes the whole block; the exchange across quads happens while loading and needs no shuffle.
inline Vector LoadQuads(const float* const* lines, size_t k) {
#if defined(__AVX512F__)
  __m512 value = _mm512_castps128_ps512(_mm_loadu_ps(lines[0] + k));
  value = _mm512_insertf32x4(value, _mm_loadu_ps(lines[4] + k), 1);
  value = _mm512_insertf32x4(value, _mm_loadu_ps(lines[8] + k), 2);
  return _mm512_insertf32x4(value, _mm_loadu_ps(lines[12] + k), 3);
#elif defined(__AVX2__)
  const __m256 value = _mm256_castps128_ps256(_mm_loadu_ps(lines[0] + k));
  return _mm256_insertf128_ps(value, _mm_loadu_ps(lines[4] + k), 1);
#else
  return LoadVector(lines[0] + k);
#endif
}

// Transposes kLanes lines of whole vectors into kLanes columns of [depth, width].
inline void PackLines(const float* const (&lines)[kLanes], size_t depth, float alpha, size_t width,
                      float* to) {
  for (size_t k = 0; k < depth; k += kLanes) {
    Vector block[kLanes];
#pragma GCC unroll 4
    for (size_t i = 0; i < kQuad; ++i) {
#pragma GCC unroll 4
      for (size_t j = 0; j < kLanes; j += kQuad) block[j + i] = LoadQuads(lines + i, k + j) * alpha;
    }
#pragma GCC unroll 4
    for (size_t j = 0; j < kLanes; j += kQuad) TransposeQuads(block + j);
#pragma GCC unroll 16
    for (size_t i = 0; i < kLanes; ++i, to += width) StoreVector(block[i], to);
  }
}

// Copies one panel of `width` lines, of which the first `lines` exist; the others get arbitrary
// values. May write up to kLanes floats beyond the panel's end.
template <size_t width>
void PackPanel(const Factor& from, size_t line, size_t lines, size_t begin, size_t depth,
               float alpha, float* to) {
  size_t k = 0;
  if (from.deep) {
    k = depth / kLanes * kLanes;
    // Last lines first: later copies overwrite what these write beyond the end of a row.
    for (size_t l = (width + kLanes - 1) / kLanes * kLanes; l > 0;) {
      l -= kLanes;
      const float* each[kLanes];
      for (size_t i = 0; i < kLanes; ++i) {
        each[i] = from.At(line + std::min(l + i, lines - 1), begin);
      }
      PackLines(each, k, alpha, width, to + l);
    }
    to += k * width;
  } else if (lines == width) {
    for (; k < depth; ++k, to += width) {
      const float* source = from.At(line, begin + k);
      for (size_t l = 0; l < width; ++l) to[l] = source[l] * alpha;
    }
  }
  for (; k < depth; ++k, to += width) {
    for (size_t l = 0; l < lines; ++l) to[l] = *from.At(line + l, begin + k) * alpha;
    std::fill(to + lines, to + width, 0.0f);
  }
}

using PanelCopy = void (*)(const Factor& from, size_t line, size_t lines, size_t begin,
                           size_t depth, float alpha, float* to);

// The copy function for panels of `width` (1 to kMostRows) lines.
inline PanelCopy PanelCopyFor(size_t width) {
  static constexpr auto kTable = []<size_t... i>(std::index_sequence<i...>) {
    struct Table {
      PanelCopy at[sizeof...(i)];
    };
    return Table{{PackPanel<i + 1>...}};
  }
  (std::make_index_sequence<kMostRows>());
  return kTable.at[width - 1];
}

}  // namespace motley::cpu
