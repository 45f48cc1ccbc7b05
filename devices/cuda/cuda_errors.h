// SPDX-License-Identifier: Apache-2.0
// Translates errors of CUDA's runtime into a driver's codes and texts.
#pragma once

#include <cuda_runtime_api.h>

#include "devices/cuda/failure.h"

namespace motley::cuda {

// The driver's code. Any error but out of memory leaves the device in an unknown state, so it
// counts as lost.
int CodeOf(cudaError_t error);

// True if a call succeeded. Otherwise the queue keeps the failure, and CUDA's error is cleared if
// possible.
bool Check(Failure& failure, const char* doing, cudaError_t error);

// Makes a device the calling thread's own for a while, and restores the thread's previous device.
// The thread may belong to a program that uses CUDA itself or not at all. A thread without a device
// has none afterwards: setting the default device 0 would make a context there.
class OnDevice {
 public:
  // `stays`: for the one thread that calls a queue's kernels and copies. It keeps the device,
  // unless it had another.
  explicit OnDevice(int device, bool stays = false);
  OnDevice(const OnDevice&) = delete;
  ~OnDevice();

  // False if the device could not be set; nothing may be done on the thread then.
  bool Check(Failure& failure) const { return cuda::Check(failure, "choosing the device", error_); }
  bool ok() const { return error_ == cudaSuccess; }

 private:
  void* before_ = nullptr;
  bool restores_ = false;
  cudaError_t error_ = cudaSuccess;
};

}  // namespace motley::cuda
