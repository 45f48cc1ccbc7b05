// SPDX-License-Identifier: Apache-2.0
#include "devices/cuda/cuda_errors.h"

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
  cudaGetLastError();  // Else the next call of somebody else on this thread would find it.
  return false;
}

}  // namespace motley::cuda
