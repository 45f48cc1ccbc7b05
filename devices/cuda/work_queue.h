// SPDX-License-Identifier: Apache-2.0
// The queue as the operations see it. It includes no CUDA header, because the operations also run
// on the host for tests.
#pragma once

#include <cstddef>
#include <cstdint>

#include "devices/cuda/failure.h"
#include "devices/drivers/driver.h"

namespace motley::cuda {

// Products in BLAS convention: column-major, c[m,n] = alpha * op(a) * op(b) + beta * c. One launch
// computes `count` products; the operands of each start `_step` values after the previous ones.
struct ColumnMajorProduct {
  bool transpose_a, transpose_b;
  size_t m, n, k;
  float alpha;
  const float* a;
  size_t a_stride;
  const float* b;
  size_t b_stride;
  float beta;
  float* c;
  size_t c_stride;
  size_t count;
  size_t a_step, b_step, c_step;
};

// The number of partial sums that fit.
inline constexpr size_t kPartials = size_t{1} << 17;

}  // namespace motley::cuda

// The first argument of every kernel. Used on the thread that calls kernels.
struct motley_driver_queue {
  int device = 0;
  void* stream = nullptr;      // A cudaStream_t; for tests on the host, a HostBlocks.
  double* partials = nullptr;  // Device memory.
  // Device memory for `slice_room` results of products over slices of their depth.
  float* slices = nullptr;
  size_t slice_room = 0;
  // The most blocks in one launch whose blocks process several parts. It is the same on every
  // device, because it decides where sums are cut.
  unsigned most_blocks = 0;
  void (*multiply)(motley_driver_queue& queue, const motley::cuda::ColumnMajorProduct&) = nullptr;
  motley::cuda::Failure failure;
};
