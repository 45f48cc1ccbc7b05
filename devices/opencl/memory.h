// SPDX-License-Identifier: Apache-2.0
// Device memory named by pointers, which OpenCL 1.2 does not have: each allocation reserves
// addresses that nobody can read, and a map tells the buffer behind them. Any thread.
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

// What a pointer names. The buffer is its allocation's, not retained.
struct Span {
  cl_mem buffer = nullptr;
  size_t offset_bytes = 0;
  size_t rest_bytes = 0;  // From there to the end of the allocation.
};

class Memory {
 public:
  // `context` must outlive it. `commands` is for the first touch of new memory, and for nothing
  // else: who allocates does not wait for kernels.
  Memory(const FoundDevice& device, cl_context context, Commands commands);
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory();

  // Page-aligned, not zeroed. NULL when the device has not that much left.
  void* Allocate(size_t size_bytes);
  // Nothing happens for NULL. OpenCL keeps the buffer until what was enqueued with it has run.
  void Free(void* pointer);

  // The allocation that `pointer` lies in, its end included.
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
