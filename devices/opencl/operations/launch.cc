// SPDX-License-Identifier: Apache-2.0
#include "devices/opencl/operations/launch.h"

namespace motley::opencl {

namespace {

void EnqueueGroups(Queue& queue, KernelName name, size_t group_items, size_t first, size_t columns,
                   size_t rows) {
  if (queue.failed()) return;
  const size_t offset[] = {first, 0};
  const size_t items[] = {columns * group_items, rows};
  const size_t group[] = {group_items, 1};
  const cl_uint dimensions = rows > 1 ? 2 : 1;
  cl_event event = nullptr;
  const cl_int code = clEnqueueNDRangeKernel(queue.commands(), queue.kernel(name), dimensions,
                                             offset, items, group, 0, nullptr, &event);
  queue.Enqueued(kKernelNames[static_cast<size_t>(name)], code, event);
}

}  // namespace

void Enqueue(Queue& queue, KernelName name, size_t first, size_t columns, size_t rows) {
  EnqueueGroups(queue, name, queue.group_items(), first, columns, rows);
}

void EnqueueSingles(Queue& queue, KernelName name, size_t columns, size_t rows) {
  EnqueueGroups(queue, name, 1, 0, columns, rows);
}

}  // namespace motley::opencl
