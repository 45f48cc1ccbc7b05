// SPDX-License-Identifier: Apache-2.0
// Products of dense matrices after Goto, van de Geijn, "Anatomy of High-Performance Matrix
// Multiplication" (ACM TOMS 34(3), 2008): packed panels of b stay in the first-level cache, a
// packed block of a in the second. Each thread keeps its packed copies from call to call; they are
// larger than the stacks of some threads.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/thread_owned.h"
#include "devices/cpu/kernels/gemm_pack.h"
#include "devices/cpu/kernels/gemm_tile.h"
#include "devices/cpu/kernels/operations.h"
#include "devices/cpu/kernels/ranges.h"

namespace motley::cpu {
namespace {

constexpr size_t kMostDepth = 512;  // The only thing that decides where sums are cut.
constexpr size_t kBlockRows = 9 * kMostRows;
constexpr size_t kBlockColumns = 384;
static_assert(kBlockColumns % kPanel == 0);

// Cuts one dimension into parts of whole units, as equal as possible.
struct Split {
  size_t size;
  size_t parts;
  size_t unit = 1;

  static Split OfAtMost(size_t size, size_t most, size_t unit = 1) {
    return {size, Blocks(size, most), unit};
  }
  size_t begin(size_t i) const {
    const size_t units = Blocks(size, unit);
    return std::min(size, unit * (units / parts * i + std::min(i, units % parts)));
  }
  size_t length(size_t i) const { return begin(i + 1) - begin(i); }
};

// c = alpha * a * b + beta * c.
struct Product {
  Factor a, b;
  size_t rows, columns, depth;
  float alpha, beta;
  float* c;
  size_t row_stride, column_stride;

  float* At(size_t row, size_t column) const {
    return c + row * row_stride + column * column_stride;
  }
};

struct Tile {
  size_t row, rows, column, columns;
};

struct Workspace {
  alignas(64) float a[kBlockRows * kMostDepth + kLanes];
  alignas(64) float b[kBlockColumns * kMostDepth + kLanes];
};

void ScaleTarget(const Product& p, const Tile& tile) {
  for (size_t i = 0; i < tile.rows; ++i) {
    for (size_t j = 0; j < tile.columns; ++j) *p.At(tile.row + i, tile.column + j) *= p.beta;
  }
}

size_t VectorsOf(size_t columns) { return columns > kLanes ? kVectors : 1; }

// Columns used by only one panel of rows are read in place.
bool InPlace(const Product& p, size_t columns) {
  return p.rows <= kMostRows && !p.b.deep && columns % kLanes == 0;
}

void PackColumns(const Product& p, size_t column, size_t columns, size_t begin, size_t depth,
                 float* to) {
  for (size_t j = 0; j < columns; j += kPanel, to += kPanel * depth) {
    const size_t lines = std::min(kPanel, columns - j);
    if (InPlace(p, lines)) continue;
    const auto pack = VectorsOf(lines) == 1 ? PackPanel<kLanes> : PackPanel<kPanel>;
    pack(p.b, column + j, lines, begin, depth, 1, to);
  }
}

void PackRows(const Product& p, size_t row, const Split& panels, size_t begin, size_t depth,
              float* to) {
  for (size_t i = 0; i < panels.parts; ++i) {
    const size_t lines = panels.length(i);
    PanelCopyFor(lines)(p.a, row + panels.begin(i), lines, begin, depth, p.alpha, to);
    to += lines * depth;
  }
}

// Multiplies packed rows and columns into the block of c at `block`.
void MultiplyBlock(const Product& p, const Tile& block, const Split& panels, size_t begin,
                   size_t depth, const Workspace& space) {
  const bool add = begin > 0 || p.beta != 0;
  for (size_t j = 0; j < block.columns; j += kPanel) {
    const size_t columns = std::min(kPanel, block.columns - j);
    const bool in_place = InPlace(p, columns);
    const float* b = in_place ? p.b.At(block.column + j, begin) : space.b + j * depth;
    const size_t stride = in_place ? p.b.stride : VectorsOf(columns) * kLanes;
    const float* a = space.a;
    for (size_t i = 0; i < panels.parts; ++i) {
      const size_t rows = panels.length(i);
      const Target target{p.At(block.row + panels.begin(i), block.column + j), p.row_stride,
                          p.column_stride, columns, add};
      PanelProductFor(rows, VectorsOf(columns))(depth, a, b, stride, target);
      a += rows * depth;
    }
  }
}

void MultiplyTile(const Product& p, const Tile& tile) {
  Workspace& space = ThreadOwned<Workspace>();
  if (p.beta != 0 && p.beta != 1) ScaleTarget(p, tile);
  const Split across = Split::OfAtMost(tile.columns, kBlockColumns, kPanel);
  const Split down = Split::OfAtMost(tile.rows, kBlockRows);
  const Split deep = Split::OfAtMost(p.depth, kMostDepth);
  for (size_t j = 0; j < across.parts; ++j) {
    for (size_t k = 0; k < deep.parts; ++k) {
      const size_t column = tile.column + across.begin(j);
      PackColumns(p, column, across.length(j), deep.begin(k), deep.length(k), space.b);
      for (size_t i = 0; i < down.parts; ++i) {
        const Tile block{tile.row + down.begin(i), down.length(i), column, across.length(j)};
        const Split panels = Split::OfAtMost(block.rows, kMostRows);
        PackRows(p, block.row, panels, deep.begin(k), deep.length(k), space.a);
        MultiplyBlock(p, block, panels, deep.begin(k), deep.length(k), space);
      }
    }
  }
}

void ScaleOnly(size_t count, float beta, float* c) {
  if (beta == 0) {
    std::fill_n(c, count, 0.0f);
  } else {
    for (size_t i = 0; i < count; ++i) c[i] *= beta;
  }
}

// Few columns would leave lanes of each vector empty; rows and columns are exchanged then.
bool BetterTransposed(size_t m, size_t n) { return n < kPanel && n % kLanes != 0 && m >= kPanel; }

// Uses as many tiles as there are threads, or as are worthwhile, and makes them as square as
// possible.
void ForTiles(void* queue, const Product& p) {
  const double cost = static_cast<double>(p.rows) * static_cast<double>(p.columns) *
                      static_cast<double>(p.depth) / (16 * kWorthwhile);
  const size_t threads =
      static_cast<size_t>(std::min(cost + 1, static_cast<double>(ThreadsOf(queue))));
  Split down{p.rows, 1};
  Split across{p.columns, 1, kPanel};
  size_t least = SIZE_MAX;
  for (size_t parts = 1; parts <= threads; ++parts) {
    const Split rows{p.rows, std::min(parts, p.rows)};
    const Split columns{p.columns, std::min(Blocks(threads, parts), Blocks(p.columns, kPanel)),
                        kPanel};
    if (rows.parts * columns.parts < threads && parts < threads) continue;
    const size_t copied = rows.parts * p.columns + columns.parts * p.rows;
    if (copied >= least) continue;
    least = copied;
    down = rows;
    across = columns;
  }
  ForBlocks(queue, down.parts * across.parts, 1, [&](size_t begin, size_t end) {
    for (size_t tile = begin; tile < end; ++tile) {
      const size_t i = tile / across.parts;
      const size_t j = tile % across.parts;
      MultiplyTile(p, {down.begin(i), down.length(i), across.begin(j), across.length(j)});
    }
  });
}

}  // namespace

void Gemm(void* queue, int transpose_a, int transpose_b, size_t m, size_t n, size_t k, float alpha,
          const float* a, const float* b, float beta, float* c) {
  if (m == 0 || n == 0) return;
  if (k == 0) return ScaleOnly(m * n, beta, c);
  if (n == 1) return MatrixTimesVector(queue, transpose_a != 0, m, k, alpha, a, b, beta, c);
  if (m == 1) return MatrixTimesVector(queue, transpose_b == 0, n, k, alpha, b, a, beta, c);
  const Factor rows{a, transpose_a != 0 ? m : k, transpose_a == 0};
  const Factor columns{b, transpose_b != 0 ? k : n, transpose_b != 0};
  if (BetterTransposed(m, n)) {
    ForTiles(queue, {columns, rows, n, m, k, alpha, beta, c, 1, n});
  } else {
    ForTiles(queue, {rows, columns, m, n, k, alpha, beta, c, n, 1});
  }
}

}  // namespace motley::cpu
