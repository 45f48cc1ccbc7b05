// SPDX-License-Identifier: Apache-2.0
// Gives device memory pointers as names, which OpenCL 1.2 does not have. Each allocation reserves
// addresses that nobody can read, and a map finds the buffer behind them. Any thread.
#pragma once

#include <CL/cl.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "devices/opencl/found_devices.h"
#include "devices/opencl/handle.h"

namespace motley::opencl {

// The place that a pointer names. The allocation owns the buffer.
struct Span {
  cl_mem buffer = nullptr;
  size_t offset_bytes = 0;
  size_t rest_bytes = 0;  // From the pointer to the end of the allocation.
};

class Memory {
 public:
  // `context` must outlive this object. `commands` is a queue only for first writes to new memory,
  // so that allocating does not wait for kernels.
  Memory(const FoundDevice& device, cl_context context, Commands commands);
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory();

  // Page-aligned, not zeroed. NULL when the device does not have enough memory left.
  void* Allocate(size_t size_bytes);
  // NULL is ignored. OpenCL keeps the buffer until commands that use it have run.
  void Free(void* pointer);

  // Finds the allocation that contains `pointer`; its end counts as inside.
  std::optional<Span> Find(const void* pointer) const;

 private:
  struct Allocation {
    cl_mem buffer;
    size_t size_bytes;
    size_t reserved_bytes;
  };

  cl_mem MakeBuffer(size_t size_bytes);
  bool Reserve(size_t size_bytes);
  void GiveBack(size_t size_bytes);

  const uint64_t most_bytes_;
  const uint64_t most_bytes_at_once_;
  const cl_context context_;
  const Commands commands_;
  mutable std::mutex mutex_;
  std::map<uintptr_t, Allocation> allocations_;  // Guarded by mutex_.
  uint64_t allocated_bytes_ = 0;                 // Guarded by mutex_.
};

}  // namespace motley::opencl
