// SPDX-License-Identifier: Apache-2.0
#include "devices/opencl/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace motley::opencl {
namespace {

constexpr size_t kUnit = 64;

// Reserves at least one address after the last byte, so that an empty operand at the end of one
// allocation does not look like the start of another.
size_t ReservedFor(size_t size_bytes) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return (size_bytes / page + 1) * page;
}

}  // namespace

Memory::Memory(const FoundDevice& device, cl_context context, Commands commands)
    : most_bytes_(device.memory_bytes),
      most_bytes_at_once_(device.most_bytes_at_once),
      context_(context),
      commands_(std::move(commands)) {}

Memory::~Memory() {
  while (!allocations_.empty()) Free(reinterpret_cast<void*>(allocations_.begin()->first));
}

// Drivers allocate buffers lazily, and some never fail. So the sum is limited to the device's
// memory.
bool Memory::Reserve(size_t size_bytes) {
  const std::lock_guard lock(mutex_);
  if (size_bytes > most_bytes_at_once_ || size_bytes > most_bytes_ - allocated_bytes_) return false;
  allocated_bytes_ += size_bytes;
  return true;
}

void Memory::GiveBack(size_t size_bytes) {
  const std::lock_guard lock(mutex_);
  allocated_bytes_ -= size_bytes;
}

// Writes to the buffer at once, so that a device without enough memory fails here.
cl_mem Memory::MakeBuffer(size_t size_bytes) {
  const size_t size = (std::max(size_bytes, kUnit) + kUnit - 1) / kUnit * kUnit;
  cl_int code = CL_SUCCESS;
  const cl_mem buffer = clCreateBuffer(context_, CL_MEM_READ_WRITE, size, nullptr, &code);
  if (code != CL_SUCCESS) return nullptr;
  const cl_uint nothing = 0;
  cl_event raw = nullptr;
  code = clEnqueueFillBuffer(commands_.get(), buffer, &nothing, sizeof(nothing), 0, kUnit, 0,
                             nullptr, &raw);
  const Event touched(raw);
  if (code == CL_SUCCESS) code = clWaitForEvents(1, &raw);
  if (code == CL_SUCCESS) return buffer;
  clReleaseMemObject(buffer);
  return nullptr;
}

void* Memory::Allocate(size_t size_bytes) {
  if (!Reserve(size_bytes)) return nullptr;
  const size_t reserved_bytes = ReservedFor(size_bytes);
  void* pointer =
      mmap(nullptr, reserved_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  const cl_mem buffer = pointer == MAP_FAILED ? nullptr : MakeBuffer(size_bytes);
  if (buffer == nullptr) {
    if (pointer != MAP_FAILED) munmap(pointer, reserved_bytes);
    GiveBack(size_bytes);
    return nullptr;
  }
  const std::lock_guard lock(mutex_);
  allocations_[reinterpret_cast<uintptr_t>(pointer)] = {buffer, size_bytes, reserved_bytes};
  return pointer;
}

void Memory::Free(void* pointer) {
  if (pointer == nullptr) return;
  const std::lock_guard lock(mutex_);
  const auto it = allocations_.find(reinterpret_cast<uintptr_t>(pointer));
  MOTLEY_ASSERT(it != allocations_.end());
  clReleaseMemObject(it->second.buffer);
  allocated_bytes_ -= it->second.size_bytes;
  munmap(pointer, it->second.reserved_bytes);
  allocations_.erase(it);
}

std::optional<Span> Memory::Find(const void* pointer) const {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  const std::lock_guard lock(mutex_);
  auto it = allocations_.upper_bound(address);
  if (it == allocations_.begin()) return std::nullopt;
  --it;
  const size_t offset = address - it->first;
  if (offset > it->second.size_bytes) return std::nullopt;
  return Span{it->second.buffer, offset, it->second.size_bytes - offset};
}

}  // namespace motley::opencl
