// SPDX-License-Identifier: Apache-2.0
// The functions behind the table of devices/kernels.h, where they are documented. Compiled once per
// instruction set.
#pragma once

#include <cstddef>

#include "devices/kernel_operations.h"

namespace motley::cpu {

MOTLEY_FOR_EACH_KERNEL(MOTLEY_DECLARE_KERNEL)

// c[m] = alpha * op(a)[m,k] * x[k] + beta * c; a is stored as [k,m] if `transpose`.
void MatrixTimesVector(void* queue, bool transpose, size_t m, size_t k, float alpha, const float* a,
                       const float* x, float beta, float* c);

}  // namespace motley::cpu
