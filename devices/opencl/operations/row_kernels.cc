// SPDX-License-Identifier: Apache-2.0
// Kernels that process each row of a matrix separately, with a group per row.
#include <algorithm>

#include "devices/opencl/operations/launch.h"
#include "devices/opencl/operations/operations.h"

namespace motley::opencl {

void AddRowSums(void* queue, size_t rows, size_t columns, float alpha, const float* x, float* sum) {
  Queue& q = QueueOf(queue);
  if (rows == 0 || columns == 0) return;
  const Place matrix = q.Find(x, rows * columns);
  LaunchGroups(q, KernelName::kRowSums, std::min(rows, kMostGroups), 1, cl_ulong{rows},
               cl_ulong{columns}, matrix, cl_int{0}, matrix, alpha, 1.0f, q.Find(sum, rows));
}

void LayerNorm(void* queue, size_t rows, size_t columns, float epsilon, const float* gain,
               const float* bias, float* x, float* inverse, float* out) {
  Queue& q = QueueOf(queue);
  const size_t count = rows * columns;
  if (count == 0) return;
  LaunchGroups(q, KernelName::kLayerNorm, std::min(rows, kMostGroups), 1, cl_ulong{rows},
               cl_ulong{columns}, epsilon, q.Find(gain, columns), q.Find(bias, columns),
               q.Find(x, count), q.Find(inverse, rows), q.Find(out, count));
}

void LayerNormBackward(void* queue, size_t rows, size_t columns, const float* gain,
                       const float* inverse, float* normal, float* delta) {
  Queue& q = QueueOf(queue);
  const size_t count = rows * columns;
  if (count == 0) return;
  LaunchGroups(q, KernelName::kLayerNormBackward, std::min(rows, kMostGroups), 1, cl_ulong{rows},
               cl_ulong{columns}, q.Find(gain, columns), q.Find(inverse, rows),
               q.Find(normal, count), q.Find(delta, count));
}

}  // namespace motley::opencl
