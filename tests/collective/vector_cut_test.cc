// SPDX-License-Identifier: Apache-2.0
#include "collective/vector_cut.h"

#include <gtest/gtest.h>

namespace motley {
namespace {

TEST(VectorCut, CoversEveryValueOnceInEqualSegments) {
  for (uint32_t segments = 1; segments <= 9; ++segments) {
    for (size_t values = 0; values < 60; ++values) {
      size_t end = 0;
      std::vector<size_t> sizes(segments, 0);
      for (const Chunk& chunk : CutContribution(values, 0, segments, 4)) {
        EXPECT_EQ(chunk.begin, end);
        EXPECT_GT(chunk.size, 0u);
        EXPECT_LE(chunk.size, 4u);
        EXPECT_FALSE(chunk.beside);
        end += chunk.size;
        sizes.at(chunk.segment) += chunk.size;
      }
      EXPECT_EQ(end, values);
      const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
      EXPECT_LE(*most - *least, 1u);
    }
  }
}

TEST(VectorCut, ValuesBesideTheVectorAreOneChunk) {
  const std::vector<Chunk> chunks = CutContribution(3, 9, 2, 4);
  ASSERT_EQ(chunks.size(), 3u);
  EXPECT_TRUE(chunks[2].beside);
  EXPECT_EQ(chunks[2].bytes(), 9 * sizeof(double));
  Contribution contribution{{1, 2, 3}, std::vector<double>(9, 1)};
  EXPECT_EQ(BytesOf(contribution, chunks[2]).size(), chunks[2].bytes());
  const std::vector<double> more(9, 0.25);
  AddTo(contribution, chunks[2], reinterpret_cast<const std::byte*>(more.data()));
  EXPECT_EQ(contribution.beside, std::vector<double>(9, 1.25));
}

}  // namespace
}  // namespace motley
