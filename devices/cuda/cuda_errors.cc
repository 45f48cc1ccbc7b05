// SPDX-License-Identifier: Apache-2.0
#include "devices/cuda/cuda_errors.h"

#include "devices/cuda/contexts.h"

namespace motley::cuda {

int CodeOf(cudaError_t error) {
  switch (error) {
    case cudaSuccess: return MOTLEY_DRIVER_OK;
    case cudaErrorMemoryAllocation: return MOTLEY_DRIVER_NO_MEMORY;
    default: return MOTLEY_DRIVER_LOST;
  }
}

bool Check(Failure& failure, const char* doing, cudaError_t error) {
  if (error == cudaSuccess) return true;
  failure.Keep(CodeOf(error), doing, cudaGetErrorName(error), cudaGetErrorString(error));
  cudaGetLastError();  // Otherwise the next CUDA call on this thread would report it.
  return false;
}

OnDevice::OnDevice(int device, bool stays) {
  int now = -1;
  if (cudaGetDevice(&now) == cudaSuccess && now == device) return;
  before_ = CurrentContext();
  error_ = cudaSetDevice(device);
  if (error_ != cudaSuccess) cudaGetLastError();
  restores_ = ok() && (before_ != nullptr || !stays);
}

OnDevice::~OnDevice() {
  if (restores_) SetCurrentContext(before_);
}

}  // namespace motley::cuda
