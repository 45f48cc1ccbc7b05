// SPDX-License-Identifier: Apache-2.0
// OpenBLAS as a baseline, loaded at run time if it is installed. Motley itself does not use it.
#pragma once

#include <cstddef>
#include <string>

#include "base/status.h"

namespace motley {

// c[m,n] = op(a)[m,k] * op(b)[k,n] + beta * c, row-major, as in devices/kernels.h.
struct DenseProduct {
  bool transpose_a;
  bool transpose_b;
  size_t m, n, k;
  float beta;
};

class OpenBlas {
 public:
  // The OpenBLAS of this process. Debian 12's release does not know newer processors and would
  // choose kernels from 2006. So its core is set to the processor's best before it is loaded: call
  // this before anything else loads it. kNotFound says how to install it.
  static Result<OpenBlas> Load();

  // The core that it uses, like "SkylakeX".
  const std::string& core() const { return core_; }
  void SetThreads(size_t threads) const { set_threads_(static_cast<int>(threads)); }
  void Multiply(const DenseProduct& product, const float* a, const float* b, float* c) const;

 private:
  using Gemm = void (*)(int order, int transpose_a, int transpose_b, int m, int n, int k,
                        float alpha, const float* a, int a_stride, const float* b, int b_stride,
                        float beta, float* c, int c_stride);
  Gemm gemm_ = nullptr;
  void (*set_threads_)(int threads) = nullptr;
  std::string core_;
};

}  // namespace motley
