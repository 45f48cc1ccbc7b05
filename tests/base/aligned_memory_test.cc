// SPDX-License-Identifier: Apache-2.0
#include "base/aligned_memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "base/sanitizer.h"

namespace motley {
namespace {

bool IsMultiple(const float* memory, std::align_val_t of) {
  return reinterpret_cast<uintptr_t>(memory) % static_cast<size_t>(of) == 0;
}

TEST(AlignedMemory, BeginsAtALineAndWhereItIsLargeAtAPage) {
  for (const size_t count : {size_t{1}, size_t{17}, size_t{1000}, size_t{1} << 18}) {
    const AlignedVector vector(count, 1);
    EXPECT_TRUE(IsMultiple(vector.data(), count < 10'000 ? kCacheLine : kPage)) << count;
    EXPECT_EQ(vector[count - 1], 1);
    const AlignedArray array = MakeAlignedArray(count);
    ASSERT_NE(array, nullptr);
    EXPECT_TRUE(IsMultiple(array.get(), kPage)) << count;
  }
}

TEST(AlignedMemory, NoMemoryIsNull) {
#if MOTLEY_ADDRESS_SANITIZER || MOTLEY_THREAD_SANITIZER
  GTEST_SKIP() << "the sanitizer ends the process when memory runs out";
#endif
  EXPECT_EQ(MakeAlignedArray(std::numeric_limits<ptrdiff_t>::max() / sizeof(float)), nullptr);
}

}  // namespace
}  // namespace motley
