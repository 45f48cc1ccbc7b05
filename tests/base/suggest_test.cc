// SPDX-License-Identifier: Apache-2.0
#include "base/suggest.h"

#include <gtest/gtest.h>

#include <array>

namespace motley {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"tolerate", "workers", "worker-speeds", "seed"};

TEST(Suggest, DistanceCountsEditsAndSwaps) {
  EXPECT_EQ(EditDistance("", ""), 0u);
  EXPECT_EQ(EditDistance("abc", ""), 3u);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3u);
  EXPECT_EQ(EditDistance("naem", "name"), 1u);
  EXPECT_EQ(EditDistance("name", "naem"), 1u);
  EXPECT_EQ(EditDistance("ab", "ba"), 1u);
}

TEST(Suggest, FindsWhatWasMeant) {
  EXPECT_EQ(ClosestName("tolerat", kNames), "tolerate");
  EXPECT_EQ(ClosestName("woker", kNames), "workers");
  EXPECT_EQ(ClosestName("worker-speed", kNames), "worker-speeds");
  EXPECT_EQ(ClosestName("sede", kNames), "seed");
  EXPECT_EQ(ClosestName("SEED", kNames), "seed");
  EXPECT_EQ(DidYouMean("tolerat", kNames), "; did you mean 'tolerate'?");
}

TEST(Suggest, SaysNothingWhenNothingIsNear) {
  EXPECT_EQ(ClosestName("xyz", kNames), "");
  EXPECT_EQ(ClosestName("", kNames), "");
  EXPECT_EQ(DidYouMean("banana", kNames), "");
  EXPECT_EQ(DidYouMean("banana", {}), "");
}

TEST(CheckChoice, SaysWhatWasProbablyMeant) {
  EXPECT_TRUE(CheckChoice("--code", "rs", {"none", "rs"}).ok());
  const Status status = CheckChoice("--code", "repitition", {"none", "repetition"});
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "--code 'repitition' is not known. Did you mean 'repetition'? It is one of: none, "
            "repetition");
  EXPECT_EQ(CheckChoice("model", "", {"none"}).message(),
            "model '' is not known. It is one of: none");
}

}  // namespace
}  // namespace motley
