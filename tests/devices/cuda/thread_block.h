// SPDX-License-Identifier: Apache-2.0
// Replaces devices/cuda/kernels/host_block.h: every thread of a block is a real thread, and all
// blocks of a launch run at the same time. If one thread writes what another reads or writes
// without a Sync between them, thread sanitizer reports a race.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "base/assert.h"

namespace motley::cuda {

enum class ThreadOrder { kAscending, kDescending };

class ThreadBarrier {
 public:
  explicit ThreadBarrier(unsigned threads) { pthread_barrier_init(&barrier_, nullptr, threads); }
  ThreadBarrier(const ThreadBarrier&) = delete;
  ~ThreadBarrier() { pthread_barrier_destroy(&barrier_); }
  void Wait() { pthread_barrier_wait(&barrier_); }

 private:
  pthread_barrier_t barrier_;
};

template <unsigned threads>
class Block {
 public:
  static constexpr unsigned kThreads = threads;
  static constexpr size_t kMostBlocks = 8;

  struct Barriers {
    Barriers() {
      for (auto& warp : warps) warp = std::make_unique<ThreadBarrier>(32);
    }
    ThreadBarrier all{threads};
    std::unique_ptr<ThreadBarrier> warps[threads / 32];
  };

  template <typename T>
  class PerThread {
   public:
    PerThread() { std::memset(&value_, 0xff, sizeof(value_)); }
    T& operator[](unsigned) { return value_; }

   private:
    T value_;
  };

  Block(size_t index, size_t count, unsigned thread, Barriers& barriers)
      : index_(index), count_(count), thread_(thread), barriers_(barriers) {
    MOTLEY_ASSERT(index < kMostBlocks);
  }

  size_t index() const { return index_; }
  size_t count() const { return count_; }

  template <typename Phase>
  void ForThreads(const Phase& phase) {
    phase(thread_);
  }
  void Sync() { barriers_.all.Wait(); }

  template <typename T, size_t size, int which = 0>
  T* Shared() {
    static T data[kMostBlocks][size];
    return data[index_];
  }

  // Threads of one warp wait for each other here, as on a device.
  template <typename T>
  void Exchange(PerThread<T>& values, unsigned mask, PerThread<T>& others) {
    static T slots[kMostBlocks][threads];
    slots[index_][thread_] = values[thread_];
    barriers_.warps[thread_ / 32]->Wait();
    others[thread_] = slots[index_][thread_ ^ mask];
    barriers_.warps[thread_ / 32]->Wait();
  }

 private:
  const size_t index_;
  const size_t count_;
  const unsigned thread_;
  Barriers& barriers_;
};

template <typename Block, typename Run>
void RunBlocks(size_t blocks, ThreadOrder, const Run& run) {
  std::vector<typename Block::Barriers> barriers(blocks);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < blocks; ++i) {
    for (unsigned thread = 0; thread < Block::kThreads; ++thread) {
      threads.emplace_back([&, i, thread] {
        Block block(i, blocks, thread, barriers[i]);
        run(block);
      });
    }
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace motley::cuda
