// SPDX-License-Identifier: Apache-2.0
#include "runtime/holders/shard_placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/runtime/held_transport.h"

namespace motley {
namespace {

using testing::ElementsAre;

// Shards with these owners, where all of so many workers may follow.
struct Placed {
  Placed(const std::vector<WorkerId>& owners, WorkerId workers, uint32_t followers = 1)
      : placement(
            transport,
            {Route(4 * owners.size(), static_cast<uint32_t>(owners.size())), 4, followers, {}},
            [](WorkerId worker) {
              return LinkLoad::To{worker + 1, Header()};
            }) {
    std::map<WorkerId, std::string> members;
    for (WorkerId worker = 0; worker < workers; ++worker) members[worker] = "somewhere";
    placement.Place(owners, members, State());
  }
  ShardState State() const {
    ShardState state;
    state.parameters = std::make_shared<std::vector<float>>(placement.count());
    state.arrays = std::make_shared<std::vector<float>>();
    return state;
  }
  // The node says that it holds the shard.
  void Answer(uint32_t shard, WorkerId node) {
    wire::ShardHeldT held;
    held.shard = shard;
    held.epoch = placement.shards()[shard].epoch;
    EXPECT_TRUE(placement.OnHeld(node, held).ok());
  }
  void AnswerAll() {
    for (uint32_t shard = 0; shard < placement.shards().size(); ++shard) {
      for (const WorkerId node : placement.shards()[shard].nodes()) Answer(shard, node);
    }
  }

  HeldTransport transport;
  ShardPlacement placement;
};

std::vector<std::set<WorkerId>> Followers(const std::vector<WorkerId>& owners, WorkerId workers,
                                          uint32_t followers = 1) {
  const Placed placed(owners, workers, followers);
  std::vector<std::set<WorkerId>> found;
  for (const auto& shard : placed.placement.shards()) found.push_back(shard.followers);
  return found;
}

using One = std::set<WorkerId>;

TEST(ShardPlacement, SpreadsTheShardsOfANodeThatIsLost) {
  EXPECT_THAT(Followers({0, 1, 2, 0, 1, 2}, 3),
              ElementsAre(One{1}, One{2}, One{0}, One{2}, One{0}, One{1}));
}

TEST(ShardPlacement, LetsNodesFollowAsTheyOwn) {
  const auto found = Followers({0, 1, 0, 1, 0, 1, 2, 0, 1, 0, 1, 0, 1}, 3);
  EXPECT_LT(std::count(found.begin(), found.end(), One{2}), 4);
  EXPECT_GT(std::count(found.begin(), found.end(), One{2}), 0);
}

TEST(ShardPlacement, LetsNodesWithoutAShardFollowOnlyIfTheyMust) {
  EXPECT_THAT(Followers({0, 0, 1}, 3), ElementsAre(One{1}, One{1}, One{0}));
  EXPECT_THAT(Followers({0, 0}, 3), ElementsAre(One{1}, One{2}));
  EXPECT_THAT(Followers({0, 1}, 3, 2), ElementsAre(One({1, 2}), One({0, 2})));
}

// A follower that stands still has the values. It can own the shard if its owner dies meanwhile,
// but an owner that only is late keeps the shard.
TEST(ShardPlacement, AFollowerThatDoesNotAnswerIsBetterThanNone) {
  Placed placed({0, 1}, 2);
  placed.AnswerAll();
  EXPECT_TRUE(placed.placement.settled());
  EXPECT_TRUE(placed.placement.CanLose(0));
  placed.placement.Ask({1});
  EXPECT_FALSE(placed.placement.CanLose(0));
  const ShardPlacement::Loss loss = placed.placement.Lose(0);
  EXPECT_EQ(loss.gone, std::nullopt);
  EXPECT_EQ(loss.moved, (std::map<uint32_t, WorkerId>{{0, 1}}));
  EXPECT_FALSE(placed.placement.settled()) << "it is waited for";
  placed.Answer(0, 1);
  EXPECT_TRUE(placed.placement.settled());
}

TEST(ShardPlacement, FollowersThatAnswerComeFirst) {
  Placed placed({0}, 3, 2);
  placed.AnswerAll();
  placed.placement.Ask({1});
  EXPECT_TRUE(placed.placement.CanLose(0));
  EXPECT_EQ(placed.placement.Lose(0).moved, (std::map<uint32_t, WorkerId>{{0, 2}}));
}

TEST(ShardPlacement, AFollowerWithoutTheValuesIsNone) {
  Placed placed({0, 1}, 3);
  placed.AnswerAll();
  placed.placement.Left(1, 7);
  EXPECT_EQ(placed.placement.Lose(1).gone, std::nullopt);
  const ShardState state = placed.State();
  placed.placement.AddFollower(0, 2, &state);
  const ShardPlacement::Loss loss = placed.placement.Lose(0);
  EXPECT_TRUE(loss.gone);
  EXPECT_EQ(loss.coming, WorkerId{2});
}

// A new owner sends its newest values only to workers that say that they lack them, and one that
// joins knows no owner before. So it learns of owners that have answered.
TEST(ShardPlacement, TellsWorkersThatJoinNoOwnerThatHasNotAnswered) {
  Placed placed({0}, 2);
  placed.AnswerAll();
  placed.placement.HandOver(0, 1);
  placed.transport.sent.clear();
  placed.placement.Joined(2, "elsewhere");
  EXPECT_EQ(placed.transport.sent.size(), 0u);
  placed.AnswerAll();
  placed.placement.Joined(3, "elsewhere");
  EXPECT_EQ(placed.transport.sent.size(), 1u);
}

}  // namespace
}  // namespace motley
