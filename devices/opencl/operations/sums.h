// SPDX-License-Identifier: Apache-2.0
// Sums over the rows of a matrix, which column sums and products with vectors both are.
#pragma once

#include "devices/opencl/queue.h"

namespace motley::opencl {

// c[columns] = alpha * transpose(x[rows,columns]) * weight + beta * c; without a weight, all are 1.
// beta 0 does not read c.
void SumRows(Queue& queue, size_t rows, size_t columns, float alpha, const Place& x,
             const Place* weight, float beta, const Place& c);

}  // namespace motley::opencl
