// SPDX-License-Identifier: Apache-2.0
#include "devices/cuda/memory_pool.h"

#include <algorithm>
#include <cstdint>

#include "devices/cuda/cuda_errors.h"

namespace motley::cuda {

MemoryPool::~MemoryPool() {
  if (pool_ != nullptr) cudaMemPoolDestroy(pool_);
}

// A pool of its own: the device's default one belongs to the whole program.
bool MemoryPool::Open(int device, cudaStream_t stream, Failure& failure) {
  device_ = device;
  stream_ = stream;
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = device;
  uint64_t kept = UINT64_MAX;
  return Check(failure, "making a memory pool", cudaMemPoolCreate(&pool_, &properties)) &&
         Check(failure, "setting up a memory pool",
               cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &kept));
}

void* MemoryPool::Allocate(size_t size_bytes) {
  const OnDevice here(device_);
  if (!here.ok()) return nullptr;
  void* memory = nullptr;
  const size_t size = std::max<size_t>(size_bytes, 1);
  if (cudaMallocFromPoolAsync(&memory, size, pool_, stream_) == cudaSuccess) return memory;
  cudaGetLastError();
  // What is free in pieces of other sizes may make room.
  if (cudaStreamSynchronize(stream_) == cudaSuccess && cudaMemPoolTrimTo(pool_, 0) == cudaSuccess &&
      cudaMallocFromPoolAsync(&memory, size, pool_, stream_) == cudaSuccess) {
    return memory;
  }
  cudaGetLastError();
  return nullptr;
}

void MemoryPool::Free(void* memory) {
  if (memory == nullptr) return;
  const OnDevice here(device_);
  // Fails on a lost device only, whose memory is lost with it.
  if (here.ok() && cudaFreeAsync(memory, stream_) != cudaSuccess) cudaGetLastError();
}

}  // namespace motley::cuda
