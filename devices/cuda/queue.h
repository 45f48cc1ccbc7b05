// SPDX-License-Identifier: Apache-2.0
// A stream of a device with its resources, all allocated when it is opened. Afterwards only buffers
// are allocated.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "devices/cuda/cublas.h"
#include "devices/cuda/memory_pool.h"
#include "devices/cuda/staging.h"
#include "devices/cuda/work_queue.h"

namespace motley::cuda {

// Threads: see devices/drivers/driver.h.
class Queue final : public motley_driver_queue {
 public:
  explicit Queue(int device_number) { device = device_number; }
  Queue(const Queue&) = delete;
  ~Queue();

  // To be called once, first. A failure is kept.
  bool Open();

  void* Allocate(size_t size_bytes) { return memory_.Allocate(size_bytes); }
  void Free(void* memory) { memory_.Free(memory); }
  uint64_t Mark();
  int CopyIn(uint64_t after, void* to, const void* from, size_t size_bytes);
  int CopyOut(uint64_t after, const void* from, size_t size_bytes, motley_take_piece take,
              void* context);
  int Finish(char* error, size_t error_size);

 private:
  bool OpenCublas();
  // Loads the code for the device and runs some of it.
  bool TryOut();
  static void Multiply(motley_driver_queue& queue, const ColumnMajorProduct& product);

  cudaStream_t own_stream_ = nullptr;
  MemoryPool memory_;
  Staging staging_;
  const Cublas* cublas_ = nullptr;
  cublasHandle_t handle_ = nullptr;
  void* workspace_ = nullptr;  // For cuBLAS.
};

}  // namespace motley::cuda
