// SPDX-License-Identifier: Apache-2.0
#include "data/data_source.h"

#include <gtest/gtest.h>

#include "tests/training/test_data.h"

namespace motley {
namespace {

TEST(MemorySource, RangesAndGatheredRowsAreTheSamples) {
  for (const bool sparse : {false, true}) {
    const Dataset data = MakeSamples(5, 3, sparse, 20, 1);
    const MemorySource source(data);
    EXPECT_EQ(source.shape().rows, 20u);
    EXPECT_EQ(source.shape().features, 5u);
    EXPECT_EQ(source.shape().classes, 3u);
    EXPECT_EQ(source.shape().sparse, sparse);
    EXPECT_EQ(EncodeBlock(*source.Range(3, 9), 0, 6), EncodeBlock(data, 3, 9));
    EXPECT_EQ(source.Range(4, 4)->rows(), 0u);
    const std::vector<uint32_t> rows = {7, 0, 7};
    EXPECT_EQ(EncodeBlock(*source.Gather(rows), 0, 3), EncodeBlock(Select(data, rows), 0, 3));
  }
}

TEST(MemorySource, BorrowsOrOwns) {
  Dataset data = MakeSamples(2, 2, false, 3, 1);
  const MemorySource borrowed(data);
  data.label.back() = 0;
  EXPECT_EQ(borrowed.Range(2, 3)->label[0], 0);
  const MemorySource owned(std::move(data));
  EXPECT_EQ(owned.shape().rows, 3u);
  EXPECT_EQ(owned.Range(0, 3)->dense.size(), 6u);
}

}  // namespace
}  // namespace motley
