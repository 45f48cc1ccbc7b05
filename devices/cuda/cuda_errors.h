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

// Makes a device the calling thread's for a while. The thread may belong to a program that uses
// CUDA itself, or has nothing to do with it: what it had it has again, and nothing where it had
// none, since who sets device 0 only because that is the default makes a context there.
class OnDevice {
 public:
  // `stays`: on the one thread that calls a queue's kernels and copies, which keeps the device
  // unless it had another.
  explicit OnDevice(int device, bool stays = false);
  OnDevice(const OnDevice&) = delete;
  ~OnDevice();

  // Else the thread has another device, where nothing may be done.
  bool Check(Failure& failure) const { return cuda::Check(failure, "choosing the device", error_); }
  bool ok() const { return error_ == cudaSuccess; }

 private:
  void* before_ = nullptr;
  bool restores_ = false;
  cudaError_t error_ = cudaSuccess;
};

}  // namespace motley::cuda
