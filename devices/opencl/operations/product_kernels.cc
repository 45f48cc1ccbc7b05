// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/assert.h"
#include "devices/opencl/operations/clblast_library.h"
#include "devices/opencl/operations/launch.h"
#include "devices/opencl/operations/operations.h"
#include "devices/opencl/operations/products.h"
#include "devices/opencl/operations/sums.h"

namespace motley::opencl {
namespace {

// CLBlast's sums are one chain of float32 over the depth, in which equal terms all round to one
// side: 512 of them lose up to 7.6e-6 of their sum, and 65,536 in chains of 512 lose up to 8.7e-6.
constexpr size_t kMostDepth = 512;

// Rows and columns of a group's block of c (kernels/products.cl).
constexpr size_t kMostSide = 16, kEach = 4;

size_t Parts(size_t size, size_t part) { return (size + part - 1) / part; }

// c = beta * c; with beta 0, c becomes 0 whatever it was.
void ScaleTarget(Queue& queue, const Product& p) {
  const size_t count = p.m * p.n;
  if (p.beta == 0) {
    LaunchItems(queue, KernelName::kFill, count, 0.0f, p.c);
  } else if (p.beta != 1) {
    LaunchItems(queue, KernelName::kScale, count, p.beta, p.c);
  }
}

// c[rows] = alpha * op(a)[rows,depth] * x + beta * c.
void MultiplyVector(Queue& queue, bool transpose, size_t rows, size_t depth, float alpha,
                    const Place& a, const Place& x, float beta, const Place& c) {
  if (transpose) return SumRows(queue, depth, rows, alpha, a, &x, beta, c);
  LaunchGroups(queue, KernelName::kRowSums, std::min(rows, kMostGroups), 1, cl_ulong{rows},
               cl_ulong{depth}, a, cl_int{1}, x, alpha, beta, c);
}

// Multiplies a part of the depth: op(a) and op(b) from `begin` on.
void MultiplyPart(Queue& queue, const ClBlast& clblast, const Product& p, size_t begin,
                  size_t depth, float beta) {
  const int a = ClBlast::TransposeOf(p.transpose_a);
  const int b = ClBlast::TransposeOf(p.transpose_b);
  const size_t a_stride = p.transpose_a ? p.m : p.k;
  const size_t b_stride = p.transpose_b ? p.k : p.n;
  const size_t a_first = p.a.first + begin * (p.transpose_a ? a_stride : 1);
  const size_t b_first = p.b.first + begin * (p.transpose_b ? 1 : b_stride);
  cl_command_queue commands = queue.commands();
  size_t scratch_bytes = 0;
  int code = clblast.scratch_bytes(ClBlast::kRowMajor, a, b, p.m, p.n, depth, a_first, a_stride,
                                   b_first, b_stride, p.c.first, p.n, &commands, &scratch_bytes);
  const Place scratch =
      scratch_bytes > 0 ? queue.ScratchFor(Scratch::kProduct, scratch_bytes) : Place{};
  if (queue.failed()) return;
  cl_event event = nullptr;
  if (code == CL_SUCCESS) {
    code = clblast.gemm(ClBlast::kRowMajor, a, b, p.m, p.n, depth, p.alpha, p.a.buffer, a_first,
                        a_stride, p.b.buffer, b_first, b_stride, beta, p.c.buffer, p.c.first, p.n,
                        &commands, &event, scratch.buffer);
  }
  queue.Enqueued("CLBlast's gemm", code, event);
}

}  // namespace

void MultiplyWithClBlast(Queue& queue, const Product& p) {
  const ClBlast* const clblast = LoadClBlast();
  MOTLEY_ASSERT(clblast != nullptr);
  for (size_t begin = 0; begin < p.k && !queue.failed(); begin += kMostDepth) {
    MultiplyPart(queue, *clblast, p, begin, std::min(p.k - begin, kMostDepth),
                 begin == 0 ? p.beta : 1);
  }
}

void MultiplyInGroups(Queue& queue, const Product& p) {
  const size_t side = std::min(queue.group_items(), kMostSide);
  const size_t rows = queue.group_items() / side * kEach;
  LaunchGroups(queue, KernelName::kMultiplyInGroups, Parts(p.n, side * kEach), Parts(p.m, rows),
               cl_ulong{p.m}, cl_ulong{p.n}, cl_ulong{p.k}, p.alpha, p.a,
               cl_ulong{p.transpose_a ? 1 : p.k}, cl_ulong{p.transpose_a ? p.m : 1}, p.b,
               cl_ulong{p.transpose_b ? 1 : p.n}, cl_ulong{p.transpose_b ? p.k : 1}, p.beta, p.c);
}

void ForgetClBlastPrograms() {
  if (const ClBlast* clblast = LoadedClBlast(); clblast != nullptr) clblast->clear_cache();
}

void Gemm(void* queue, int transpose_a, int transpose_b, size_t m, size_t n, size_t k, float alpha,
          const float* a, const float* b, float beta, float* c) {
  Queue& q = QueueOf(queue);
  if (m == 0 || n == 0) return;
  const Product p{
      transpose_a != 0, transpose_b != 0, m, n, k, alpha, q.Find(a, m * k), q.Find(b, k * n), beta,
      q.Find(c, m * n)};
  if (q.failed()) return;
  if (k == 0 || alpha == 0) return ScaleTarget(q, p);
  if (n == 1) return MultiplyVector(q, p.transpose_a, m, k, alpha, p.a, p.b, beta, p.c);
  if (m == 1) return MultiplyVector(q, !p.transpose_b, n, k, alpha, p.b, p.a, beta, p.c);
  if (q.lanes() > 0) return MultiplyOnProcessor(q, p);
  if (LoadClBlast() != nullptr) return MultiplyWithClBlast(q, p);
  MultiplyInGroups(q, p);
}

}  // namespace motley::opencl
