// SPDX-License-Identifier: Apache-2.0
#include "devices/cuda/memory_pool.h"

#include <algorithm>
#include <cstdint>

#include "devices/cuda/cuda_errors.h"

namespace motley::cuda {

MemoryPool::~MemoryPool() {
  if (pool_ != nullptr) cudaMemPoolDestroy(pool_);
}

// Makes a pool of its own, because the device's default pool belongs to the whole program.
bool MemoryPool::Open(int device, cudaStream_t stream, Failure& failure) {
  device_ = device;
  stream_ = stream;
  int supported = 0;
  if (!Check(failure, "asking for memory pools",
             cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, device))) {
    return false;
  }
  if (supported == 0) return true;
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = device;
  uint64_t kept = UINT64_MAX;
  const cudaError_t made = cudaMemPoolCreate(&pool_, &properties);
  if (made == cudaErrorNotSupported) {  // The attribute can be wrong.
    pool_ = nullptr;
    cudaGetLastError();
    return true;
  }
  return Check(failure, "making a memory pool", made) &&
         Check(failure, "setting up a memory pool",
               cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &kept));
}

void* MemoryPool::Allocate(size_t size_bytes) {
  const OnDevice here(device_);
  if (!here.ok()) return nullptr;
  void* memory = nullptr;
  const size_t size = std::max<size_t>(size_bytes, 1);
  if (pool_ == nullptr) {
    if (cudaMalloc(&memory, size) == cudaSuccess) return memory;
    cudaGetLastError();
    return nullptr;
  }
  if (cudaMallocFromPoolAsync(&memory, size, pool_, stream_) == cudaSuccess) return memory;
  cudaGetLastError();
  // Trimming free pieces of other sizes may make room.
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
  if (!here.ok()) return;
  // These calls fail only on a lost device, and its memory is lost with it.
  if (pool_ != nullptr) {
    if (cudaFreeAsync(memory, stream_) != cudaSuccess) cudaGetLastError();
    return;
  }
  if (cudaStreamSynchronize(stream_) != cudaSuccess) cudaGetLastError();
  if (cudaFree(memory) != cudaSuccess) cudaGetLastError();
}

}  // namespace motley::cuda
