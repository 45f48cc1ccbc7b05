// SPDX-License-Identifier: Apache-2.0
// Memory for vectors of floats that are added up again and again. It begins at a cache line, so
// that no vector instruction touches two, and at a page where it is large, so that vectors that are
// read side by side come to their next pages together: processors fetch ahead within a page. Both
// make a third of the speed of sums in memory (docs/log/performance.md).
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

// Not initialised; null when there is no memory.
inline AlignedArray MakeAlignedArray(size_t count) {
  return AlignedArray(
      static_cast<float*>(::operator new[](count * sizeof(float), kPage, std::nothrow)));
}

}  // namespace motley
