// SPDX-License-Identifier: Apache-2.0
// The language of our kernels: a block of threads that runs in phases. A phase is a function of a
// thread's number. Values in a PerThread stay with their thread for the next phase; values in
// memory are visible to other threads after Sync. Without a CUDA compiler the same kernels are
// plain C++, and a block is a loop over its threads. So their arithmetic can be tested without a
// GPU.
#pragma once

#include <cstddef>
#include <cstdint>

#ifdef __CUDACC__
#define MOTLEY_DEVICE __device__
#define MOTLEY_ANYWHERE __host__ __device__
#else
#define MOTLEY_DEVICE
#define MOTLEY_ANYWHERE
#ifndef MOTLEY_HOST_BLOCK
#define MOTLEY_HOST_BLOCK "devices/cuda/kernels/host_block.h"
#endif
#include MOTLEY_HOST_BLOCK
#endif

namespace motley::cuda {

#ifdef __CUDACC__

// One thread's view of its block.
template <unsigned threads>
class Block {
 public:
  static constexpr unsigned kThreads = threads;

  template <typename T>
  class PerThread {
   public:
    MOTLEY_DEVICE T& operator[](unsigned) { return value_; }

   private:
    T value_;
  };

  MOTLEY_DEVICE size_t index() const { return blockIdx.x; }
  MOTLEY_DEVICE size_t count() const { return gridDim.x; }

  template <typename Phase>
  MOTLEY_DEVICE void ForThreads(const Phase& phase) {
    phase(threadIdx.x);
  }
  MOTLEY_DEVICE void Sync() { __syncthreads(); }

  // The block's shared memory, not initialised. There is one array per type, size and `which`.
  template <typename T, size_t size, int which = 0>
  MOTLEY_DEVICE T* Shared() {
    __shared__ T data[size];
    return data;
  }

  // Every thread gets the value of the thread with the number that differs by the bit `mask` (below
  // 32). All threads of the block must call it.
  template <typename T>
  MOTLEY_DEVICE void Exchange(PerThread<T>& values, unsigned mask, PerThread<T>& others) {
    others[0] = __shfl_xor_sync(0xffffffffu, values[0], mask);
  }
};

#endif

// Sums over threads with equal numbers modulo `width` (a power of two), in a fixed order. The first
// `width` threads get the sums.
template <typename Block, typename T>
MOTLEY_DEVICE void Fold(Block& block, unsigned width,
                        typename Block::template PerThread<T>& values) {
  T* const shared = block.template Shared<T, Block::kThreads>();
  block.ForThreads([&](unsigned t) { shared[t] = values[t]; });
  block.Sync();
  for (unsigned half = Block::kThreads / 2; half >= width; half /= 2) {
    block.ForThreads([&](unsigned t) {
      if (t < half) shared[t] += shared[t + half];
    });
    block.Sync();
  }
  block.ForThreads([&](unsigned t) { values[t] = shared[t]; });
}

// Combines the values of each team of `lanes` consecutive threads, a power of two up to 32 or the
// whole block. Every thread gets its team's result. `combine` is commutative.
template <typename Block, typename T, typename Combine>
MOTLEY_DEVICE void Join(Block& block, unsigned lanes, const Combine& combine,
                        typename Block::template PerThread<T>& values) {
  constexpr unsigned kWarp = 32;
  for (unsigned mask = (lanes < kWarp ? lanes : kWarp) / 2; mask > 0; mask /= 2) {
    typename Block::template PerThread<T> others;
    block.Exchange(values, mask, others);
    block.ForThreads([&](unsigned t) { values[t] = combine(values[t], others[t]); });
  }
  if (lanes <= kWarp) return;
  T* const shared = block.template Shared<T, Block::kThreads / kWarp, 1>();
  block.ForThreads([&](unsigned t) {
    if (t % kWarp == 0) shared[t / kWarp] = values[t];
  });
  block.Sync();
  block.ForThreads([&](unsigned t) {
    values[t] = shared[0];
    for (unsigned warp = 1; warp < Block::kThreads / kWarp; ++warp) {
      values[t] = combine(values[t], shared[warp]);
    }
  });
  block.Sync();
}

struct Plus {
  template <typename T>
  MOTLEY_DEVICE T operator()(T a, T b) const {
    return a + b;
  }
};

struct Larger {
  MOTLEY_DEVICE float operator()(float a, float b) const { return a < b ? b : a; }
};

}  // namespace motley::cuda
