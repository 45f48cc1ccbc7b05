// SPDX-License-Identifier: Apache-2.0
// A block of threads as loops on the host, with the interface of devices/cuda/kernels/block.cuh. It
// exposes everything that a kernel may not rely on: threads run in ascending or descending order,
// and unset values are NaN.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>

namespace motley::cuda {

enum class ThreadOrder { kAscending, kDescending };

template <unsigned threads>
class Block {
 public:
  static constexpr unsigned kThreads = threads;

  template <typename T>
  class PerThread {
   public:
    PerThread() { std::memset(values_, 0xff, sizeof(values_)); }
    T& operator[](unsigned thread) { return values_[thread]; }

   private:
    T values_[threads];
  };

  Block(size_t index, size_t count, ThreadOrder order)
      : index_(index), count_(count), order_(order), number_(++Numbers()) {}

  size_t index() const { return index_; }
  size_t count() const { return count_; }

  template <typename Phase>
  void ForThreads(const Phase& phase) {
    for (unsigned i = 0; i < threads; ++i) {
      phase(order_ == ThreadOrder::kAscending ? i : threads - 1 - i);
    }
  }
  void Sync() {}

  template <typename T, size_t size, int which = 0>
  T* Shared() {
    // An allocation of its own, so that address sanitizer sees its bounds.
    thread_local const std::unique_ptr<T[]> data(new T[size]);
    thread_local size_t owner = 0;
    if (owner != number_) std::memset(data.get(), 0xff, size * sizeof(T));
    owner = number_;
    return data.get();
  }

  template <typename T>
  void Exchange(PerThread<T>& values, unsigned mask, PerThread<T>& others) {
    for (unsigned thread = 0; thread < threads; ++thread) others[thread] = values[thread ^ mask];
  }

 private:
  static size_t& Numbers() {
    thread_local size_t numbers = 0;
    return numbers;
  }

  const size_t index_;
  const size_t count_;
  const ThreadOrder order_;
  const size_t number_;  // Counts the blocks that this thread ran.
};

// Calls run(block) for each of `blocks` blocks.
template <typename Block, typename Run>
void RunBlocks(size_t blocks, ThreadOrder order, const Run& run) {
  for (size_t i = 0; i < blocks; ++i) {
    Block block(order == ThreadOrder::kAscending ? i : blocks - 1 - i, blocks, order);
    run(block);
  }
}

}  // namespace motley::cuda
