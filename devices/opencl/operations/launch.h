// SPDX-License-Identifier: Apache-2.0
// Enqueues a kernel of kernels/*.cl with its arguments in order; a Place counts as two. Does
// nothing once the queue has failed.
#pragma once

#include <algorithm>
#include <cstddef>

#include "devices/opencl/queue.h"

namespace motley::opencl {

// Items in one launch of LaunchItems, below every driver's limit.
inline constexpr size_t kMostItems = size_t{1} << 22;
// Groups in one launch of LaunchGroups; a kernel's group also processes the work kMostGroups
// further on.
inline constexpr size_t kMostGroups = 1024;

// The arguments of a kernel, set one after the other.
class Arguments {
 public:
  Arguments(Queue& queue, KernelName name) : kernel_(queue.kernel(name)) {}
  template <typename T>
  void Add(const T& value) {
    const cl_int code = clSetKernelArg(kernel_, next_++, sizeof(value), &value);
    if (code_ == CL_SUCCESS) code_ = code;
  }
  void Add(const Place& place) {
    Add(place.buffer);
    Add(place.first);
  }
  cl_int code() const { return code_; }

 private:
  const cl_kernel kernel_;
  cl_uint next_ = 0;
  cl_int code_ = CL_SUCCESS;
};

// Enqueues `columns` x `rows` groups. Items have the same columns and rows, with the group's size
// in the first dimension; `first` is the number of the first item.
void Enqueue(Queue& queue, KernelName name, size_t first, size_t columns, size_t rows);

// The same for kernels with groups of one item.
void EnqueueSingles(Queue& queue, KernelName name, size_t columns, size_t rows);

// Sets the arguments; returns false once the queue has failed.
template <typename... Args>
bool Prepare(Queue& queue, KernelName name, const Args&... args) {
  if (queue.failed()) return false;
  Arguments arguments(queue, name);
  (arguments.Add(args), ...);
  if (arguments.code() != CL_SUCCESS) {
    queue.Fail(arguments.code(), kKernelNames[static_cast<size_t>(name)]);
  }
  return !queue.failed();
}

// Launches one item for each of `count`, in several launches if necessary. `count` is the kernel's
// first argument.
template <typename... Args>
void LaunchItems(Queue& queue, KernelName name, size_t count, const Args&... args) {
  if (count == 0 || !Prepare(queue, name, cl_ulong{count}, args...)) return;
  for (size_t first = 0; first < count; first += kMostItems) {
    const size_t items = std::min(count - first, kMostItems);
    Enqueue(queue, name, first, (items + queue.group_items() - 1) / queue.group_items(), 1);
  }
}

// Launches `columns` x `rows` groups.
template <typename... Args>
void LaunchGroups(Queue& queue, KernelName name, size_t columns, size_t rows, const Args&... args) {
  if (columns == 0 || rows == 0 || !Prepare(queue, name, args...)) return;
  Enqueue(queue, name, 0, columns, rows);
}

}  // namespace motley::opencl
