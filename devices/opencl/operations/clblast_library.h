// SPDX-License-Identifier: Apache-2.0
// CLBlast, a library of matrix products for GPUs. It is loaded when a product first asks for it, so
// that machines without it compute all the same, by kernels of our own.
#pragma once

#include <CL/cl.h>

#include <cstddef>

namespace motley::opencl {

// Functions of clblast_c.h, whose enums are ints, by their names there. They return 0 or why not.
struct ClBlast {
  static constexpr int kRowMajor = 101;
  static int TransposeOf(bool transpose) { return transpose ? 112 : 111; }

  // CLBlastSGemmTempBufferSize
  int (*scratch_bytes)(int layout, int transpose_a, int transpose_b, size_t m, size_t n, size_t k,
                       size_t a_first, size_t a_stride, size_t b_first, size_t b_stride,
                       size_t c_first, size_t c_stride, cl_command_queue* queue, size_t* bytes);
  // CLBlastSgemmWithTempBuffer
  int (*gemm)(int layout, int transpose_a, int transpose_b, size_t m, size_t n, size_t k,
              float alpha, cl_mem a, size_t a_first, size_t a_stride, cl_mem b, size_t b_first,
              size_t b_stride, float beta, cl_mem c, size_t c_first, size_t c_stride,
              cl_command_queue* queue, cl_event* event, cl_mem scratch);
  // CLBlastClearCache
  int (*clear_cache)();
};

// Any thread. Null where the library, or one of the functions, is not there; looks once.
const ClBlast* LoadClBlast();
// Null where nobody has loaded it.
const ClBlast* LoadedClBlast();

}  // namespace motley::opencl
