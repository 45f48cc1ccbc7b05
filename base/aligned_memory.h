// SPDX-License-Identifier: Apache-2.0
// Memory for vectors of floats that are summed again and again. It starts at a cache line, so that
// no vector instruction touches two lines. A large block starts at a page: processors prefetch
// within a page, and vectors that are read side by side then reach their next pages together.
// Together the two make sums in memory a third faster (docs/log/performance.md).
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

namespace motley {

inline constexpr std::align_val_t kCacheLine{64};
inline constexpr std::align_val_t kPage{4096};

constexpr std::align_val_t AlignmentOf(size_t bytes) {
  constexpr size_t kLarge = 64 * 1024;
  return bytes < kLarge ? kCacheLine : kPage;
}

template <typename T>
struct AlignedAllocator {
  using value_type = T;

  AlignedAllocator() = default;
  template <typename U>
  AlignedAllocator(const AlignedAllocator<U>&) {}

  T* allocate(size_t count) {
    const size_t bytes = count * sizeof(T);
    return static_cast<T*>(::operator new(bytes, AlignmentOf(bytes)));
  }
  void deallocate(T* memory, size_t count) {
    ::operator delete(memory, AlignmentOf(count * sizeof(T)));
  }

  bool operator==(const AlignedAllocator&) const { return true; }
};

using AlignedVector = std::vector<float, AlignedAllocator<float>>;

struct DeletePages {
  void operator()(float* memory) const { ::operator delete[](memory, kPage); }
};
using AlignedArray = std::unique_ptr<float[], DeletePages>;

// The memory is not initialised. Returns null when memory is out.
inline AlignedArray MakeAlignedArray(size_t count) {
  return AlignedArray(
      static_cast<float*>(::operator new[](count * sizeof(float), kPage, std::nothrow)));
}

}  // namespace motley
