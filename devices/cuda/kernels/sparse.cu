// SPDX-License-Identifier: Apache-2.0
// Products with a sparse matrix. There are no atomics and every sum has a fixed order, so results
// are the same each time.
#include "devices/cuda/kernels/launch.cuh"
#include "devices/cuda/operations.h"

namespace motley::cuda {
namespace {

MOTLEY_DEVICE float Combine(float alpha, double sum, float beta, const float* c) {
  return static_cast<float>(beta == 0 ? alpha * sum : alpha * sum + beta * static_cast<double>(*c));
}

// The sum of entries first, first + step, ... < last of a, times their rows of one column of b. It
// uses float32 for 256 terms, and float64 for the sum of those.
MOTLEY_DEVICE double SumEntries(const motley_csr& a, uint64_t first, uint64_t last, unsigned step,
                                const float* b, size_t n) {
  constexpr uint64_t kTerms = 256;
  double sum = 0;
  while (first < last) {
    float part = 0;
    for (uint64_t i = 0; i < kTerms && first < last; ++i, first += step) {
      part += a.value[first] * b[a.column[first] * n];
    }
    sum += part;
  }
  return sum;
}

// A team of threads for each row. If b is one column, threads share the row's entries; otherwise
// they share the columns of b.
struct CsrTimesDenseBody {
  template <typename Block>
  MOTLEY_DEVICE void operator()(Block& block, const motley_csr& a, size_t n, unsigned lanes,
                                float alpha, const float* b, float beta, float* c) const {
    const size_t teams = Block::kThreads / lanes;
    for (size_t first = block.index() * teams; first < a.rows; first += block.count() * teams) {
      block.ForThreads([&](unsigned t) {
        const size_t row = first + t / lanes;
        for (size_t j = t % lanes; row < a.rows && j < n; j += lanes) {
          const double sum = SumEntries(a, a.row_begin[row], a.row_begin[row + 1], 1, b + j, n);
          float* to = c + row * n + j;
          *to = Combine(alpha, sum, beta, to);
        }
      });
    }
  }
};

struct CsrTimesVectorBody {
  static constexpr unsigned kLanes = 32;

  template <typename Block>
  MOTLEY_DEVICE void operator()(Block& block, const motley_csr& a, float alpha, const float* b,
                                float beta, float* c) const {
    constexpr size_t kTeams = Block::kThreads / kLanes;
    for (size_t first = block.index() * kTeams; first < a.rows; first += block.count() * kTeams) {
      typename Block::template PerThread<double> sum;
      block.ForThreads([&](unsigned t) {
        const size_t row = first + t / kLanes;
        sum[t] = row >= a.rows ? 0
                               : SumEntries(a, a.row_begin[row] + t % kLanes, a.row_begin[row + 1],
                                            kLanes, b, 1);
      });
      Join<Block, double>(block, kLanes, Plus{}, sum);
      block.ForThreads([&](unsigned t) {
        const size_t row = first + t / kLanes;
        if (t % kLanes == 0 && row < a.rows) c[row] = Combine(alpha, sum[t], beta, c + row);
      });
    }
  }
};

// The first place in [begin, end) with a column of `least` or more.
MOTLEY_DEVICE uint64_t LowerBound(const uint32_t* column, uint64_t begin, uint64_t end,
                                  size_t least) {
  while (begin < end) {
    const uint64_t middle = begin + (end - begin) / 2;
    if (column[middle] < least) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

// Cuts c into blocks: each has `height` of a's columns (rows of c) and `width` columns of c.
struct Cut {
  static constexpr size_t kSums = 1024;  // In float64, in a block's shared memory.

  size_t height, width;
  size_t down, across;

  static Cut Of(size_t rows, size_t columns) {
    constexpr size_t kMostWidth = 128, kLeastHeight = 32, kEnoughBlocks = 2048;
    Cut cut{};
    cut.width = std::min(columns, kMostWidth);
    cut.height = std::min(kSums / cut.width, std::max(kLeastHeight, Pieces(rows, kEnoughBlocks)));
    cut.down = Pieces(rows, cut.height);
    cut.across = Pieces(columns, cut.width);
    return cut;
  }
};

// A block searches every row of a for the entries in its columns. Entries of one row are in
// different columns, so threads share them. Rows are processed one after another, so sums have a
// fixed order.
struct CsrTransposedTimesDenseBody {
  template <typename Block>
  MOTLEY_DEVICE void operator()(Block& block, const motley_csr& a, size_t n, Cut cut, float alpha,
                                const float* b, float* c) const {
    for (size_t i = block.index(); i < cut.down * cut.across; i += block.count()) {
      Piece piece;
      piece.begin = i / cut.across * cut.height;
      piece.end = piece.begin + cut.height < a.columns ? piece.begin + cut.height : a.columns;
      piece.first = i % cut.across * cut.width;
      piece.width =
          static_cast<unsigned>(n - piece.first < cut.width ? n - piece.first : cut.width);
      const auto sums = static_cast<unsigned>((piece.end - piece.begin) * piece.width);
      double* const sum = block.template Shared<double, Cut::kSums>();
      block.ForThreads([&](unsigned t) {
        for (unsigned s = t; s < sums; s += Block::kThreads) sum[s] = 0;
      });
      block.Sync();
      AddRows(block, a, piece, b + piece.first, n, sum);
      block.ForThreads([&](unsigned t) {
        for (unsigned s = t; s < sums; s += Block::kThreads) {
          float* to = c + (piece.begin + s / piece.width) * n + piece.first + s % piece.width;
          if (sum[s] != 0) *to = Combine(alpha, sum[s], 1, to);
        }
      });
      block.Sync();
    }
  }

 private:
  struct Piece {
    size_t begin, end;  // Columns of a.
    size_t first;       // Column of c.
    unsigned width;
  };

  template <typename Block>
  static MOTLEY_DEVICE void AddRows(Block& block, const motley_csr& a, const Piece& piece,
                                    const float* b, size_t n, double* sum) {
    constexpr unsigned kRows = Block::kThreads;
    uint64_t* const from = block.template Shared<uint64_t, kRows, 0>();
    uint64_t* const until = block.template Shared<uint64_t, kRows, 1>();
    for (size_t first = 0; first < a.rows; first += kRows) {
      block.ForThreads([&](unsigned t) {
        from[t] = until[t] = 0;
        if (first + t >= a.rows) return;
        const uint64_t last = a.row_begin[first + t + 1];
        from[t] = LowerBound(a.column, a.row_begin[first + t], last, piece.begin);
        until[t] = LowerBound(a.column, from[t], last, piece.end);
      });
      block.Sync();
      for (unsigned row = 0; row < kRows; ++row) {
        const uint64_t entry = from[row];
        const auto terms = static_cast<unsigned>(until[row] - entry) * piece.width;
        if (terms == 0) continue;
        block.ForThreads([&](unsigned t) {
          for (unsigned s = t; s < terms; s += Block::kThreads) {
            const uint64_t e = entry + s / piece.width;
            const unsigned j = s % piece.width;
            sum[(a.column[e] - piece.begin) * piece.width + j] +=
                static_cast<double>(a.value[e]) * b[(first + row) * n + j];
          }
        });
        block.Sync();
      }
      block.Sync();
    }
  }
};

}  // namespace

void CsrTimesDense(void* queue, const motley_csr* a, size_t n, float alpha, const float* b,
                   float beta, float* c) {
  if (n == 0) return;
  motley_driver_queue& to = QueueOf(queue);
  const unsigned lanes = n == 1 ? CsrTimesVectorBody::kLanes : LanesFor(n);
  const size_t blocks =
      std::min<size_t>(Pieces(a->rows, WideBlock::kThreads / lanes), to.most_blocks);
  if (n == 1) {
    Launch<WideBlock>(to, "csr_times_dense", blocks, CsrTimesVectorBody{}, *a, alpha, b, beta, c);
  } else {
    Launch<WideBlock>(to, "csr_times_dense", blocks, CsrTimesDenseBody{}, *a, n, lanes, alpha, b,
                      beta, c);
  }
}

void CsrTransposedTimesDense(void* queue, const motley_csr* a, size_t n, float alpha,
                             const float* b, float* c) {
  if (n == 0 || a->rows == 0) return;
  motley_driver_queue& to = QueueOf(queue);
  const Cut cut = Cut::Of(a->columns, n);
  const size_t blocks = std::min<size_t>(cut.down * cut.across, to.most_blocks);
  Launch<WarpBlock>(to, "csr_transposed_times_dense", blocks, CsrTransposedTimesDenseBody{}, *a, n,
                    cut, alpha, b, c);
}

}  // namespace motley::cuda
