// SPDX-License-Identifier: Apache-2.0
// How vectors are cut into ranges of shards, and these into slices.
#include "runtime/links/route.h"

#include <gtest/gtest.h>

#include <vector>

#include "runtime/links/slicing.h"

namespace motley {
namespace {

TEST(Route, CutsPairsAsEquallyAsTheyDivide) {
  EXPECT_EQ(Route(9, 2).ends(), (std::vector<uint64_t>{6, 10}));
  EXPECT_EQ(Route(20, 3).ends(), (std::vector<uint64_t>{8, 14, 20}));
  EXPECT_EQ(Route(1, 4).ends(), (std::vector<uint64_t>{2}));
  EXPECT_EQ(Route(5, 100).ends(), (std::vector<uint64_t>{2, 4, 6}));
  const Route route(9, 2);
  EXPECT_EQ(route.begin(1), 6u);
  EXPECT_EQ(route.size(1), 4u);
  EXPECT_EQ(route.parameters(0), 6u);
  EXPECT_EQ(route.parameters(1), 3u) << "the last float is padding";
}

TEST(Route, CoversEveryVectorOnce) {
  for (size_t parameters = 1; parameters < 60; ++parameters) {
    for (uint32_t shards = 1; shards < 9; ++shards) {
      const Route route(parameters, shards);
      size_t all = 0;
      for (size_t shard = 0; shard < route.shards(); ++shard) {
        EXPECT_EQ(route.begin(shard), all);
        EXPECT_GT(route.parameters(shard), 0u);
        all += route.size(shard);
      }
      EXPECT_EQ(all, (parameters + 1) / 2 * 2);
      EXPECT_TRUE(Route::Parse(parameters, route.ends()).ok());
    }
  }
}

TEST(Route, RefusesEndsThatAreNoRanges) {
  for (const std::vector<uint64_t>& ends :
       {std::vector<uint64_t>{}, {8}, {12}, {4, 4, 10}, {6, 4, 10}, {3, 10}, {0, 10}}) {
    EXPECT_EQ(Route::Parse(9, ends).code(), StatusCode::kDataError) << ends.size();
  }
  std::vector<uint64_t> many;
  for (uint64_t end = 2; end <= 2 * (kMaxShards + 1); end += 2) many.push_back(end);
  EXPECT_EQ(Route::Parse(many.back(), many).code(), StatusCode::kDataError);
}

TEST(Slicing, OfShardsNeverReachesOverTheEndOfARange) {
  const Slicing cut({10, 18}, 4);
  std::vector<std::vector<size_t>> slices;
  for (size_t slice = 0; slice < cut.count(); ++slice) {
    slices.push_back({cut.begin(slice), cut.size(slice), cut.ShardOf(slice)});
  }
  EXPECT_EQ(slices, (std::vector<std::vector<size_t>>{
                        {0, 4, 0}, {4, 4, 0}, {8, 2, 0}, {10, 4, 1}, {14, 4, 1}}));
  EXPECT_EQ(cut.first_slice(1), 3u);
  EXPECT_EQ(cut.Holding(9), 2u);
  EXPECT_EQ(cut.Holding(10), 3u);
  EXPECT_EQ(cut.At(14), 4u);
  for (const size_t nowhere : {1, 9, 12, 18, 100}) EXPECT_EQ(cut.At(nowhere), cut.count());
}

TEST(Slicing, RefusesASliceForAnotherShard) {
  const Slicing cut({10, 18}, 4);
  Header header;
  header.total = 18;
  header.offset = 10;
  header.length = 16;
  header.shard = 1;
  EXPECT_EQ(SliceOf(cut, header).value(), 3u);
  header.shard = 0;
  EXPECT_EQ(SliceOf(cut, header).code(), StatusCode::kDataError);
  header = {.shard = 0, .offset = 8, .total = 18, .length = 16};
  EXPECT_EQ(SliceOf(cut, header).code(), StatusCode::kDataError) << "over the end of its range";
}

}  // namespace
}  // namespace motley
