// SPDX-License-Identifier: Apache-2.0
// A queue's device memory: given out and taken back in the order of its stream, without waiting,
// and kept for the next time. Devices without memory pools (some that are shared or virtual) wait
// until their stream has run before they take memory back.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "devices/cuda/failure.h"

namespace motley::cuda {

// Any thread, once it is open.
class MemoryPool {
 public:
  MemoryPool() = default;
  MemoryPool(const MemoryPool&) = delete;
  ~MemoryPool();

  bool Open(int device, cudaStream_t stream, Failure& failure);
  // 256-byte aligned; null when there is not enough.
  void* Allocate(size_t size_bytes);
  // When what the stream has now has run.
  void Free(void* memory);

 private:
  int device_ = 0;
  cudaStream_t stream_ = nullptr;
  cudaMemPool_t pool_ = nullptr;  // Null: the device has none.
};

}  // namespace motley::cuda
