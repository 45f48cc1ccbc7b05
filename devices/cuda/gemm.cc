// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "devices/cuda/operations.h"
#include "devices/cuda/work_queue.h"

namespace motley::cuda {

// A row-major matrix is its transpose to BLAS, so c' = b' a' is asked for. Sums are cut, because
// the library may add all terms of one in a chain of float32, and equal terms all round to one
// side: 512 of them lose up to 7.6e-6 of their sum, 65,536 in such parts up to 8.7e-6.
void Gemm(void* queue, int transpose_a, int transpose_b, size_t m, size_t n, size_t k, float alpha,
          const float* a, const float* b, float beta, float* c) {
  constexpr size_t kMostTerms = 512;
  if (m == 0 || n == 0) return;
  if (k == 0) {
    if (beta == 0) return Fill(queue, m * n, 0, c);
    if (beta != 1) Scale(queue, m * n, beta, c);
    return;
  }
  auto& to = *static_cast<motley_driver_queue*>(queue);
  for (size_t begin = 0; begin < k && !to.failure.failed(); begin += kMostTerms) {
    ColumnMajorProduct product{};
    product.transpose_a = transpose_b != 0;
    product.transpose_b = transpose_a != 0;
    product.m = n;
    product.n = m;
    product.k = std::min(kMostTerms, k - begin);
    product.alpha = alpha;
    product.a = b + begin * (transpose_b != 0 ? 1 : n);
    product.a_stride = transpose_b != 0 ? k : n;
    product.b = a + begin * (transpose_a != 0 ? m : 1);
    product.b_stride = transpose_a != 0 ? m : k;
    product.beta = begin == 0 ? beta : 1;
    product.c = c;
    product.c_stride = n;
    to.multiply(to, product);
  }
}

}  // namespace motley::cuda
