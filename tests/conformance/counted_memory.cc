// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/counted_memory.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<size_t> allocated{0};
std::atomic<size_t> most{0};

void Count(void* memory) {
  const size_t now = allocated += malloc_usable_size(memory);
  size_t before = most;
  while (now > before && !most.compare_exchange_weak(before, now)) continue;
}

// Out of line, because the compiler would otherwise miss the matching operator new.
[[gnu::noinline]] void Free(void* memory) {
  allocated -= malloc_usable_size(memory);
  std::free(memory);
}

}  // namespace

[[gnu::noinline]] void* operator new(size_t size) {
  void* const memory = std::malloc(size);
  if (memory == nullptr) std::abort();
  Count(memory);
  return memory;
}
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  void* const memory = std::malloc(size);
  if (memory != nullptr) Count(memory);
  return memory;
}
void* operator new[](size_t size) { return operator new(size); }
void* operator new[](size_t size, const std::nothrow_t& none) noexcept {
  return operator new(size, none);
}
void* operator new(size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  const auto unit = static_cast<size_t>(alignment);
  void* const memory = std::aligned_alloc(unit, (size + unit - 1) / unit * unit);
  if (memory != nullptr) Count(memory);
  return memory;
}
[[gnu::noinline]] void* operator new(size_t size, std::align_val_t alignment) {
  void* const memory = operator new(size, alignment, std::nothrow);
  if (memory == nullptr) std::abort();
  return memory;
}
void* operator new[](size_t size, std::align_val_t alignment, const std::nothrow_t& none) noexcept {
  return operator new(size, alignment, none);
}
void operator delete(void* memory, std::align_val_t) noexcept { Free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { Free(memory); }
void operator delete(void* memory) noexcept { Free(memory); }
void operator delete(void* memory, size_t) noexcept { Free(memory); }
void operator delete[](void* memory) noexcept { Free(memory); }
void operator delete[](void* memory, size_t) noexcept { Free(memory); }

namespace motley {

size_t AllocatedBytes() { return allocated; }
size_t MostAllocatedBytes() { return most; }
void ResetMostAllocated() { most = allocated.load(); }

}  // namespace motley
