// SPDX-License-Identifier: Apache-2.0
// Products of two matrices.
#pragma once

#include "devices/opencl/queue.h"

namespace motley::opencl {

// c[m,n] = alpha * op(a)[m,k] * op(b)[k,n] + beta * c, as in devices/kernels.h.
struct Product {
  bool transpose_a, transpose_b;
  size_t m, n, k;
  float alpha;
  Place a, b;
  float beta;
  Place c;
};

// Requires CLBlast (clblast_library.h) and m, n, k of at least 1. The first call for a device
// compiles its kernels, which takes seconds.
void MultiplyWithClBlast(Queue& queue, const Product& product);

// The same with a simple kernel of our own, for machines without CLBlast.
void MultiplyInGroups(Queue& queue, const Product& product);

// The same on a processor, with kernels of our own: CLBlast's are made for GPUs.
void MultiplyOnProcessor(Queue& queue, const Product& product);

// Frees the programs that CLBlast keeps for all contexts of this process.
void ForgetClBlastPrograms();

}  // namespace motley::opencl
