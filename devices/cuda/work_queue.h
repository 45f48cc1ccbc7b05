// SPDX-License-Identifier: Apache-2.0
// What the operations know of their queue. It has no header of CUDA's in it, because they also run
// on the host, for tests.
#pragma once

#include <cstddef>
#include <cstdint>

#include "devices/cuda/failure.h"
#include "devices/drivers/driver.h"

namespace motley::cuda {

// Products as BLAS has them: column-major, c[m,n] = alpha * op(a) * op(b) + beta * c. One launch
// does `count` of them; the operands of each lie `_step` values behind those of the one before.
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

// How many partial sums there is room for.
inline constexpr size_t kPartials = size_t{1} << 17;

}  // namespace motley::cuda

// The first argument of every kernel. On the thread that calls kernels.
struct motley_driver_queue {
  int device = 0;
  void* stream = nullptr;      // cudaStream_t; where blocks run on the host, a HostBlocks.
  double* partials = nullptr;  // Device memory.
  // Device memory for `slice_room` results of products over slices of their depth.
  float* slices = nullptr;
  size_t slice_room = 0;
  // What one launch has at most where blocks take turns: a choice that is the same on every device,
  // because it decides where sums are cut.
  unsigned most_blocks = 0;
  void (*multiply)(motley_driver_queue& queue, const motley::cuda::ColumnMajorProduct&) = nullptr;
  motley::cuda::Failure failure;
};
