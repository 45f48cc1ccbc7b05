// SPDX-License-Identifier: Apache-2.0
// CLBlast, a library of matrix products for GPUs. It is loaded by the first product, so that
// machines without it can compute with kernels of our own.
#pragma once

#include <CL/cl.h>

#include <cstddef>

namespace motley::opencl {

// Functions of clblast_c.h by their names there, with ints for enums. They return 0 or an error
// code.
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

// Any thread. Loads CLBlast once; null if the library or one of the functions is missing.
const ClBlast* LoadClBlast();
// Null if LoadClBlast has not loaded it.
const ClBlast* LoadedClBlast();

}  // namespace motley::opencl
