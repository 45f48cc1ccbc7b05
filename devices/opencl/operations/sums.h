// SPDX-License-Identifier: Apache-2.0
// Sums over the rows of a matrix, for column sums and for products with vectors.
#pragma once

#include "devices/opencl/queue.h"

namespace motley::opencl {

// c[columns] = alpha * transpose(x[rows,columns]) * weight + beta * c. Without a weight, all
// weights are 1. With beta 0, c is not read.
void SumRows(Queue& queue, size_t rows, size_t columns, float alpha, const Place& x,
             const Place* weight, float beta, const Place& c);

}  // namespace motley::opencl
