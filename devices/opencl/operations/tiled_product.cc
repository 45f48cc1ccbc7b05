// SPDX-License-Identifier: Apache-2.0
// Products on processors: packs panels of both factors into scratch memory, and multiplies them.
#include <algorithm>

#include "devices/opencl/operations/launch.h"
#include "devices/opencl/operations/products.h"

namespace motley::opencl {
namespace {

constexpr size_t kTileRows = 6;  // TILE_ROWS in kernels/tiles.cl.
// Limits of what is packed at once; they bound scratch memory to 2 * 64 MiB.
constexpr size_t kMostLines = 8184;
constexpr size_t kMostDepth = 2048;
constexpr size_t kDepthOfPacking = 64;
constexpr size_t kMostTilesOfItem = 16;
constexpr size_t kItemsOfUnit = 8;

size_t Parts(size_t size, size_t part) { return (size + part - 1) / part; }

// Lines of `depth` values; neighbouring lines are `line_stride` apart.
struct Factor {
  Place from;
  size_t line_stride, depth_stride;

  Factor At(size_t line, size_t depth) const {
    Factor part = *this;
    part.from.first += line * line_stride + depth * depth_stride;
    return part;
  }
};

void Pack(Queue& queue, const Factor& factor, size_t lines, size_t depth, size_t width, float scale,
          const Place& to) {
  if (!Prepare(queue, KernelName::kPackPanels, cl_ulong{lines}, cl_ulong{depth}, cl_ulong{width},
               cl_ulong{kDepthOfPacking}, cl_ulong{factor.line_stride},
               cl_ulong{factor.depth_stride}, scale, factor.from, to)) {
    return;
  }
  EnqueueSingles(queue, KernelName::kPackPanels, Parts(lines, width),
                 Parts(depth, kDepthOfPacking));
}

// Makes enough items to keep all cores busy to the end, but no smaller ones than necessary.
size_t RowsOfItem(const Queue& queue, size_t rows, size_t panels) {
  const size_t wanted = Parts(kItemsOfUnit * queue.device().units, panels);
  return kTileRows * std::clamp<size_t>(Parts(rows, kTileRows) / wanted, 1, kMostTilesOfItem);
}

}  // namespace

void MultiplyOnProcessor(Queue& queue, const Product& p) {
  const size_t tile_columns = 2 * queue.lanes();
  const Factor a{p.a, p.transpose_a ? 1 : p.k, p.transpose_a ? p.m : 1};
  const Factor b{p.b, p.transpose_b ? p.k : 1, p.transpose_b ? 1 : p.n};
  const size_t most_rows = std::min(Parts(p.m, kTileRows) * kTileRows, kMostLines);
  const size_t most_columns =
      std::min(Parts(p.n, tile_columns), kMostLines / tile_columns) * tile_columns;
  const size_t most_depth = std::min(p.k, kMostDepth);
  const Place rows_packed =
      queue.ScratchFor(Scratch::kProduct, (most_rows + most_columns) * most_depth * sizeof(float));
  const Place columns_packed{rows_packed.buffer, rows_packed.first + most_rows * most_depth};
  for (size_t column = 0; column < p.n; column += most_columns) {
    const size_t columns = std::min(p.n - column, most_columns);
    const size_t panels = Parts(columns, tile_columns);
    for (size_t begin = 0; begin < p.k; begin += most_depth) {
      const size_t depth = std::min(p.k - begin, most_depth);
      Pack(queue, b.At(column, begin), columns, depth, tile_columns, 1, columns_packed);
      for (size_t row = 0; row < p.m; row += most_rows) {
        const size_t rows = std::min(p.m - row, most_rows);
        Pack(queue, a.At(row, begin), rows, depth, kTileRows, p.alpha, rows_packed);
        const size_t rows_of_item = RowsOfItem(queue, rows, panels);
        const Place c{p.c.buffer, p.c.first + row * p.n + column};
        if (!Prepare(queue, KernelName::kMultiplyTiles, cl_ulong{rows}, cl_ulong{columns},
                     cl_ulong{depth}, cl_ulong{rows_of_item}, cl_ulong{p.n}, rows_packed,
                     columns_packed, begin == 0 ? p.beta : 1.0f, c)) {
          return;
        }
        EnqueueSingles(queue, KernelName::kMultiplyTiles, panels, Parts(rows, rows_of_item));
      }
    }
  }
}

}  // namespace motley::opencl
