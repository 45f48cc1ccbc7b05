// SPDX-License-Identifier: Apache-2.0
// A queue's device memory. It is allocated and freed in the order of the stream without waiting,
// and freed memory is kept for reuse. Devices without memory pools (some shared or virtual ones)
// wait for their stream before they free memory.
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
  // 256-byte aligned; null when there is not enough memory.
  void* Allocate(size_t size_bytes);
  // Frees the memory when the stream's present work has run.
  void Free(void* memory);

 private:
  int device_ = 0;
  cudaStream_t stream_ = nullptr;
  cudaMemPool_t pool_ = nullptr;  // Null if the device does not support pools.
};

}  // namespace motley::cuda
