// SPDX-License-Identifier: Apache-2.0
// What CUDA's runtime says, as a driver's codes and texts.
#pragma once

#include <cuda_runtime_api.h>

#include "devices/cuda/failure.h"

namespace motley::cuda {

// Failures other than for want of memory leave the device in doubt: it counts as lost.
int CodeOf(cudaError_t error);

// Whether a call went well; else the queue's failure is kept, and CUDA forgets it where it can.
bool Check(Failure& failure, const char* doing, cudaError_t error);

// Makes a device the calling thread's for a while: it may belong to a program that uses CUDA
// itself.
class OnDevice {
 public:
  explicit OnDevice(int device) {
    if (cudaGetDevice(&before_) != cudaSuccess) before_ = device;
    changed_ = before_ != device && cudaSetDevice(device) == cudaSuccess;
  }
  OnDevice(const OnDevice&) = delete;
  ~OnDevice() {
    if (changed_) cudaSetDevice(before_);
  }

 private:
  int before_ = 0;
  bool changed_ = false;
};

}  // namespace motley::cuda
