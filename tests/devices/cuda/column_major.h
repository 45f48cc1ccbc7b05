// SPDX-License-Identifier: Apache-2.0
// The products that the CUDA driver requests from BLAS, as loops.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "devices/cuda/work_queue.h"

namespace motley::conformance {

// Each sum is a chain of float32, as in the worst BLAS.
inline void MultiplyOneColumnMajor(const cuda::ColumnMajorProduct& p) {
  for (size_t column = 0; column < p.n; ++column) {
    for (size_t row = 0; row < p.m; ++row) {
      float sum = 0;
      for (size_t i = 0; i < p.k; ++i) {
        sum += p.a[p.transpose_a ? row * p.a_stride + i : i * p.a_stride + row] *
               p.b[p.transpose_b ? i * p.b_stride + column : column * p.b_stride + i];
      }
      float& to = p.c[column * p.c_stride + row];
      to = p.alpha * sum + (p.beta == 0 ? 0 : p.beta * to);
    }
  }
}

// Arguments that BLAS does not allow fail the test.
inline void MultiplyColumnMajor(cuda::ColumnMajorProduct p) {
  ASSERT_GT(std::min({p.m, p.n, p.k, p.count}), 0U);
  ASSERT_LE(p.k, 512U) << "a longer chain loses too much precision";
  ASSERT_LE(p.count, 65535U) << "a grid has no more layers";
  ASSERT_GE(p.a_stride, p.transpose_a ? p.k : p.m);
  ASSERT_GE(p.b_stride, p.transpose_b ? p.n : p.k);
  ASSERT_GE(p.c_stride, p.m);
  ASSERT_TRUE(p.count == 1 || p.c_step >= p.c_stride * p.n) << "results overlap";
  for (size_t i = 0; i < p.count; ++i) {
    MultiplyOneColumnMajor(p);
    p.a += p.a_step;
    p.b += p.b_step;
    p.c += p.c_step;
  }
}

}  // namespace motley::conformance
