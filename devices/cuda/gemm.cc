// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "devices/cuda/operations.h"
#include "devices/cuda/work_queue.h"

namespace motley::cuda {
namespace {

// The library may add all terms of a sum in one chain of float32, and equal terms all round to one
// side. Chains of 512 terms lose up to 7.6e-6 of their sum.
constexpr size_t kMostTerms = 512;
// The most products in one launch; a grid has no more layers.
constexpr size_t kMostProducts = 65535;

struct RowMajorProduct {
  bool transpose_a, transpose_b;
  size_t m, n, k;
  const float* a;
  const float* b;
};

// The product over the terms [begin, begin + terms) of the depth, and `count` - 1 more over the
// terms that follow. BLAS sees a row-major matrix as its transpose, so this is the transposed
// product.
ColumnMajorProduct Slice(const RowMajorProduct& p, size_t begin, size_t terms, size_t count) {
  const size_t a_term = p.transpose_a ? p.m : 1, b_term = p.transpose_b ? 1 : p.n;
  ColumnMajorProduct product{};
  product.transpose_a = p.transpose_b;
  product.transpose_b = p.transpose_a;
  product.m = p.n;
  product.n = p.m;
  product.k = terms;
  product.a = p.b + begin * b_term;
  product.a_stride = p.transpose_b ? p.k : p.n;
  product.b = p.a + begin * a_term;
  product.b_stride = p.transpose_a ? p.m : p.k;
  product.c_stride = p.n;
  product.count = count;
  product.a_step = terms * b_term;
  product.b_step = terms * a_term;
  product.c_step = p.m * p.n;
  return product;
}

}  // namespace

// The first slice, which may be short, goes into c. All others go into the queue's memory at once,
// and their sums are added in float64. If that memory has room for few slices only, each slice
// fills the device by itself, and adding them to c one by one costs no more.
void Gemm(void* queue, int transpose_a, int transpose_b, size_t m, size_t n, size_t k, float alpha,
          const float* a, const float* b, float beta, float* c) {
  if (m == 0 || n == 0) return;
  if (k == 0) {
    if (beta == 0) return Fill(queue, m * n, 0, c);
    if (beta != 1) Scale(queue, m * n, beta, c);
    return;
  }
  auto& to = *static_cast<motley_driver_queue*>(queue);
  const RowMajorProduct whole{transpose_a != 0, transpose_b != 0, m, n, k, a, b};
  const auto multiply = [&](ColumnMajorProduct product, float scale, float keep, float* result) {
    product.alpha = scale;
    product.beta = keep;
    product.c = result;
    if (!to.failure.failed()) to.multiply(to, product);
  };
  const size_t slices = (k - 1) / kMostTerms + 1;
  size_t done = k - (slices - 1) * kMostTerms;
  multiply(Slice(whole, 0, done, 1), alpha, beta, c);
  const size_t at_once = std::min(to.slice_room / (m * n), kMostProducts);
  const bool one_by_one = slices <= 3 || at_once < 3;
  while (done < k && !to.failure.failed()) {
    const size_t count = one_by_one ? 1 : std::min(at_once, (k - done) / kMostTerms);
    const ColumnMajorProduct product = Slice(whole, done, kMostTerms, count);
    if (one_by_one) {
      multiply(product, alpha, 1, c);
    } else {
      multiply(product, 1, 0, to.slices);
      AddSlices(queue, count, m * n, alpha, to.slices, c);
    }
    done += count * kMostTerms;
  }
}

}  // namespace motley::cuda
