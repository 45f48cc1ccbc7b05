// SPDX-License-Identifier: Apache-2.0
// Sums in float64 in two steps: blocks write theirs to the queue's partials, then one block adds
// those up. The sizes alone decide the cuts, so the same device always gives the same bits.
#pragma once

#include <algorithm>
#include <cstddef>

#include "devices/cuda/kernels/launch.cuh"

namespace motley::cuda {

// partial[block.index()] = the sum of all threads' values.
template <typename Block>
MOTLEY_DEVICE void LeavePartial(Block& block, typename Block::template PerThread<double>& values,
                                double* partial) {
  Fold<Block, double>(block, 1, values);
  block.ForThreads([&](unsigned t) {
    if (t == 0) partial[block.index()] = values[t];
  });
}

// *sum = the sum of partial[count], plus the old *sum if `add`.
struct SumPartialsBody {
  template <typename Block>
  MOTLEY_DEVICE void operator()(Block& block, size_t count, bool add, const double* partial,
                                double* sum) const {
    typename Block::template PerThread<double> total;
    block.ForThreads([&](unsigned t) {
      total[t] = 0;
      for (size_t i = t; i < count; i += Block::kThreads) total[t] += partial[i];
    });
    Fold<Block, double>(block, 1, total);
    block.ForThreads([&](unsigned t) {
      if (t == 0) *sum = add ? *sum + total[t] : total[t];
    });
  }
};

// `first` is the index of the first partial.
inline void SumPartials(motley_driver_queue& queue, const char* name, size_t count, bool add,
                        double* sum, size_t first = 0) {
  Launch<WideBlock>(queue, name, 1, SumPartialsBody{}, count, add,
                    static_cast<const double*>(queue.partials) + first, sum);
}

// The number of blocks that process `count` items, `each` at a time, and write `sums` partials
// each.
inline size_t SummingBlocks(const motley_driver_queue& queue, size_t count, size_t each,
                            size_t sums = 1) {
  return std::min({Pieces(count, each), size_t{queue.most_blocks}, kPartials / sums});
}

}  // namespace motley::cuda
