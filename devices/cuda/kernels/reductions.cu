// SPDX-License-Identifier: Apache-2.0
#include "base/signs.h"
#include "devices/cuda/kernels/partial_sums.cuh"
#include "devices/cuda/kernels/pointwise.cuh"
#include "devices/cuda/operations.h"

namespace motley::cuda {
namespace {

struct SumOfSquaresBody {
  template <typename Block>
  MOTLEY_DEVICE void operator()(Block& block, size_t count, const float* x, double* partial) const {
    constexpr size_t kStep = Block::kThreads;
    constexpr unsigned kAtOnce = 4;
    typename Block::template PerThread<double> sum;
    block.ForThreads([&](unsigned t) {
      double sums[kAtOnce] = {};  // Independent, so that reads need not wait for additions.
      for (size_t tile = block.index() * kStep * kAtOnce; tile < count;
           tile += block.count() * kStep * kAtOnce) {
        for (unsigned number = 0; number < kAtOnce; ++number) {
          const size_t i = tile + number * kStep + t;
          const double value = i < count ? x[i] : 0.0f;
          sums[number] += value * value;
        }
      }
      sum[t] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    });
    LeavePartial(block, sum, partial);
  }
};

// Each thread has one word of signs at a time: a column of 32 values of a block of 512.
struct SketchBody {
  template <typename Block>
  MOTLEY_DEVICE void operator()(Block& block, size_t count, SignKey key, const float* x,
                                double* squares, double* values) const {
    typename Block::template PerThread<double> square, value;
    const size_t words = Pieces(count, kSignBlock) * kSignLanes;
    block.ForThreads([&](unsigned t) {
      square[t] = value[t] = 0;
      for (size_t number = block.index() * Block::kThreads + t; number < words;
           number += block.count() * Block::kThreads) {
        const uint32_t signs = SignWord(key, static_cast<uint32_t>(number));
        const size_t first = number / kSignLanes * kSignBlock + number % kSignLanes;
        for (unsigned row = 0; row < kSignRows; ++row) {
          const size_t i = first + row * kSignLanes;
          const double each = i < count ? x[i] : 0.0f;
          square[t] += each * each;
          value[t] += ((signs << row) & kSignBit) != 0 ? -each : each;
        }
      }
    });
    LeavePartial(block, square, squares);
    LeavePartial(block, value, values);
  }
};

// Each block sums a part of the rows for `width` columns into partial[part * columns + column].
struct SumColumnsBody {
  template <typename Block>
  MOTLEY_DEVICE void operator()(Block& block, size_t rows, size_t columns, size_t stride,
                                size_t parts, unsigned width, const float* x,
                                double* partial) const {
    const size_t part = block.index() % parts;
    const size_t first = block.index() / parts * width;
    const size_t share = Pieces(rows, parts);
    const size_t begin = part * share;
    const size_t end = begin + share < rows ? begin + share : rows;
    typename Block::template PerThread<double> sum;
    block.ForThreads([&](unsigned t) {
      const size_t column = first + t % width;
      const size_t step = Block::kThreads / width;
      double total = 0;
      if (column < columns) {
        const float* from = x + column;
        for (size_t row = begin + t / width; row < end; row += step) total += from[row * stride];
      }
      sum[t] = total;
    });
    Fold<Block, double>(block, width, sum);
    block.ForThreads([&](unsigned t) {
      if (t < width && first + t < columns) partial[part * columns + first + t] = sum[t];
    });
  }
};

// Each block has `width` columns.
struct AddSlicesBody {
  template <typename Block>
  MOTLEY_DEVICE void operator()(Block& block, size_t slices, size_t columns, unsigned width,
                                float alpha, const float* from, float* to) const {
    typename Block::template PerThread<double> sum;
    block.ForThreads([&](unsigned t) {
      const size_t column = block.index() * width + t % width;
      double total = 0;
      if (column < columns) {
        for (size_t slice = t / width; slice < slices; slice += Block::kThreads / width) {
          total += from[slice * columns + column];
        }
      }
      sum[t] = total;
    });
    Fold<Block, double>(block, width, sum);
    block.ForThreads([&](unsigned t) {
      const size_t column = block.index() * width + t;
      if (t < width && column < columns) {
        to[column] = static_cast<float>(to[column] + alpha * sum[t]);
      }
    });
  }
};

// The width that lets a thread add about 16 slices, and a block read whole memory sectors.
unsigned ColumnsOfABlock(size_t slices) {
  constexpr size_t kSlicesOfAThread = 16;
  constexpr unsigned kSector = 8;
  unsigned width = WideBlock::kThreads;
  while (width > kSector && WideBlock::kThreads / width * kSlicesOfAThread < slices) width /= 2;
  return width;
}

// The number of parts that gives each thread 16 rows, or fills a device.
size_t PartsOfRows(size_t rows, size_t columns, unsigned width) {
  constexpr size_t kRowsOfAThread = 16, kEnoughBlocks = 1024;
  const size_t worthwhile = Pieces(rows, kRowsOfAThread * (WideBlock::kThreads / width));
  const size_t fitting = std::min(kEnoughBlocks / Pieces(columns, width), kPartials / columns);
  return std::max<size_t>(1, std::min(worthwhile, fitting));
}

}  // namespace

void SumOfSquares(void* queue, size_t count, const float* x, double* sum) {
  motley_driver_queue& to = QueueOf(queue);
  const size_t blocks = SummingBlocks(to, count, WideBlock::kThreads * 16);
  Launch<WideBlock>(to, "sum_of_squares", blocks, SumOfSquaresBody{}, count, x, to.partials);
  SumPartials(to, "sum_of_squares", blocks, false, sum);
}

void Sketch(void* queue, size_t count, uint64_t seed, const float* x, double* sums) {
  motley_driver_queue& to = QueueOf(queue);
  const size_t words = Pieces(count, kSignBlock) * kSignLanes;
  const size_t blocks = SummingBlocks(to, words, WideBlock::kThreads, 2);
  Launch<WideBlock>(to, "sketch", blocks, SketchBody{}, count, SignKeyOf(seed), x, to.partials,
                    to.partials + blocks);
  SumPartials(to, "sketch", blocks, false, sums);
  SumPartials(to, "sketch", blocks, false, sums + 1, blocks);
}

void AddSlices(void* queue, size_t slices, size_t count, float alpha, const float* from, float* c) {
  const unsigned width = ColumnsOfABlock(slices);
  Launch<WideBlock>(QueueOf(queue), "gemm", Pieces(count, width), AddSlicesBody{}, slices, count,
                    width, alpha, from, c);
}

void AddColumnSums(void* queue, size_t rows, size_t all_columns, float alpha, const float* x,
                   float* sum) {
  if (rows == 0) return;
  motley_driver_queue& to = QueueOf(queue);
  for (size_t first = 0; first < all_columns; first += kPartials) {
    const size_t columns = std::min(kPartials, all_columns - first);
    const unsigned width = LanesFor(columns);
    const size_t parts = PartsOfRows(rows, columns, width);
    Launch<WideBlock>(to, "add_column_sums", parts * Pieces(columns, width), SumColumnsBody{}, rows,
                      columns, all_columns, parts, width, x + first, to.partials);
    const double* partial = to.partials;
    Pointwise(
        queue, "add_column_sums", columns,
        [=] MOTLEY_DEVICE(size_t column, float& value) {
          double total = 0;
          for (size_t part = 0; part < parts; ++part) total += partial[part * columns + column];
          value = static_cast<float>(value + alpha * total);
        },
        sum + first);
  }
}

}  // namespace motley::cuda
