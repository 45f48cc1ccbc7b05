// SPDX-License-Identifier: Apache-2.0
// Copies of parts of a matrix in the order in which the innermost product (gemm_tile.h) reads them:
// panels of some lines (rows of a, or columns of b), each panel as [depth, lines].
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

#include "devices/cpu/kernels/gemm_tile.h"

namespace motley::cpu {

// A factor seen as lines of `depth` values: line l's value k is at data[l * stride + k] when
// `deep`, else at data[k * stride + l].
struct Factor {
  const float* data;
  size_t stride;
  bool deep;

  const float* At(size_t line, size_t k) const {
    return deep ? data + line * stride + k : data + k * stride + line;
  }
};

// One panel of `width` lines, of which the first `lines` exist and the others are 0. May write up
// to kLanes floats past the panel's end.
template <size_t width>
void PackPanel(const Factor& from, size_t line, size_t lines, size_t begin, size_t depth,
               float alpha, float* to) {
  size_t k = 0;
  if (from.deep) {
    constexpr size_t kGroups = (width + kLanes - 1) / kLanes;
    for (; k + kLanes <= depth; k += kLanes) {
      Vector block[kGroups][kLanes];
      for (size_t g = 0; g < kGroups; ++g) {
#pragma GCC unroll 16
        for (size_t i = 0; i < kLanes; ++i) {
          const size_t l = g * kLanes + i;
          block[g][i] = l < lines ? LoadVector(from.At(line + l, begin + k)) * alpha : Vector{};
        }
        Transpose(block[g]);
      }
      // In this order: what is written past a line's end is then written again.
      for (size_t i = 0; i < kLanes; ++i, to += width) {
        for (size_t g = 0; g < kGroups; ++g) StoreVector(block[g][i], to + g * kLanes);
      }
    }
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

// The copy into panels that are `width` (1 to kMostRows) lines wide.
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
