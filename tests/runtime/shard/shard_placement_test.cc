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

// The followers of shards with these owners, where all of so many workers may follow.
std::vector<std::set<WorkerId>> Followers(const std::vector<WorkerId>& owners, WorkerId workers,
                                          uint32_t followers = 1) {
  HeldTransport transport;
  const auto shards = static_cast<uint32_t>(owners.size());
  ShardPlacement placement(transport, {Route(4 * owners.size(), shards), 4, followers, {}},
                           [](WorkerId worker) {
                             return LinkLoad::To{worker + 1, Header()};
                           });
  std::map<WorkerId, std::string> members;
  for (WorkerId worker = 0; worker < workers; ++worker) members[worker] = "somewhere";
  ShardState state;
  state.parameters = std::make_shared<std::vector<float>>(4 * owners.size());
  state.arrays = std::make_shared<std::vector<float>>();
  placement.Place(owners, members, state);
  std::vector<std::set<WorkerId>> found;
  for (const ShardPlacement::Shard& shard : placement.shards()) found.push_back(shard.followers);
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

}  // namespace
}  // namespace motley
