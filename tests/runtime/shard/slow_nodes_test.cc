// SPDX-License-Identifier: Apache-2.0
#include "runtime/holders/slow_nodes.h"

#include <gtest/gtest.h>

namespace motley {
namespace {

using Stage = SlowNodes::Stage;
constexpr Duration kStep = std::chrono::seconds(1);

class SlowNodesTest : public testing::Test {
 protected:
  // An update of a second that waits for `node` alone for a part of it.
  void Update(WorkerId node, double part, Stage stage = Stage::kSums, bool others_before = true) {
    nodes_.Begin(now_);
    const auto wait = std::chrono::duration_cast<Duration>(kStep * part);
    now_ += kStep - wait;
    if (others_before) nodes_.Awaits({0, 1, 2}, stage, now_);
    nodes_.Awaits({node}, stage, now_);
    now_ += wait;
    nodes_.Awaits({}, stage, now_);
  }
  // What the updates so far say.
  std::optional<WorkerId> Slow() {
    nodes_.Begin(now_);
    return nodes_.Take();
  }

  SlowNodes nodes_;
  Time now_{};
};

TEST_F(SlowNodesTest, HoldUpSeveralUpdatesInARow) {
  for (int i = 0; i < 3; ++i) Update(2, 0.3);
  EXPECT_EQ(Slow(), std::nullopt);
  for (int i = 0; i < 4; ++i) Update(2, 0.3);
  EXPECT_EQ(Slow(), 2u);
  EXPECT_EQ(Slow(), std::nullopt) << "it counts from the beginning";
}

TEST_F(SlowNodesTest, AreAwaitedForMuchOfAnUpdate) {
  for (int i = 0; i < 8; ++i) Update(2, 0.15);
  EXPECT_EQ(Slow(), std::nullopt);
}

TEST_F(SlowNodesTest, AreTheSameEachTime) {
  for (int i = 0; i < 12; ++i) Update(i % 4 == 3 ? 1 : 2, 0.3);
  EXPECT_EQ(Slow(), std::nullopt);
}

TEST_F(SlowNodesTest, AreSlowerThanOthersWithACopy) {
  for (int i = 0; i < 8; ++i) Update(2, 0.5, Stage::kCopies, /*others_before=*/false);
  EXPECT_EQ(Slow(), std::nullopt) << "the only follower";
  for (int i = 0; i < 4; ++i) Update(2, 0.5, Stage::kCopies);
  EXPECT_EQ(Slow(), 2u);
}

TEST_F(SlowNodesTest, MayBeSlowInBothStages) {
  for (int i = 0; i < 4; ++i) {
    nodes_.Begin(now_);
    for (const Stage stage : {Stage::kSums, Stage::kCopies}) {
      now_ += kStep * 7 / 20;
      nodes_.Awaits({0, 2}, stage, now_);
      nodes_.Awaits({2}, stage, now_);
      now_ += kStep * 3 / 20;
    }
    nodes_.Awaits({}, Stage::kCopies, now_);
  }
  EXPECT_EQ(Slow(), 2u);
}

TEST_F(SlowNodesTest, CountAnewAfterALoss) {
  for (int i = 0; i < 3; ++i) Update(2, 0.3);
  nodes_.Lost(2);
  Update(2, 0.3);
  EXPECT_EQ(Slow(), std::nullopt);
}

TEST_F(SlowNodesTest, AreNotFoundInShortUpdates) {
  for (int i = 0; i < 8; ++i) {
    nodes_.Begin(now_);
    nodes_.Awaits({0, 2}, Stage::kSums, now_);
    nodes_.Awaits({2}, Stage::kSums, now_);
    now_ += std::chrono::milliseconds(40);
    nodes_.Awaits({}, Stage::kSums, now_);
  }
  EXPECT_EQ(Slow(), std::nullopt);
}

}  // namespace
}  // namespace motley
