// SPDX-License-Identifier: Apache-2.0
// What the algorithms send, in vectors per member and in hops.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "collective/algorithm.h"

namespace motley {
namespace {

struct Load {
  double sent = 0;  // Vectors.
  double received = 0;
};

// Chunks that one member of the group sends and receives, for two chunks in each segment.
std::vector<Load> LoadsOf(const std::string& name, uint32_t members, const Groups& groups = {}) {
  std::vector<Load> loads(members);
  const double part = 1.0 / (2 * members);
  for (size_t chunk = 0; chunk < 2 * members; ++chunk) {
    for (Rank rank = 0; rank < members; ++rank) {
      const Place place{rank, members, static_cast<uint32_t>(chunk / 2), chunk, &groups};
      for (const Step& step : (*FindCollective(name))->steps(place)) {
        (step.verb == Verb::kSend ? loads[rank].sent : loads[rank].received) += part;
      }
    }
  }
  return loads;
}

TEST(Algorithms, RingAndButterflyCarryTheLeastOverEqualLinks) {
  for (const char* name : {"ring", "butterfly"}) {
    for (uint32_t members = 1; members <= 12; ++members) {
      const double least = 2.0 * (members - 1) / members;
      for (const Load& load : LoadsOf(name, members)) {
        EXPECT_NEAR(load.sent, least, 1e-9) << name << " of " << members;
        EXPECT_NEAR(load.received, least, 1e-9) << name << " of " << members;
      }
    }
  }
}

TEST(Algorithms, TwoTreesCarryAtMostTwoVectors) {
  for (uint32_t members = 1; members <= 12; ++members) {
    for (const Load& load : LoadsOf("tree", members)) {
      EXPECT_LE(load.sent, 2 + 1e-9) << members;
      EXPECT_LE(load.received, 2 + 1e-9) << members;
    }
  }
}

TEST(Algorithms, OnlyLeadersSendBetweenGroups) {
  const Groups groups = {{2, 0, 1}, {4, 3}, {5}};
  for (size_t chunk = 0; chunk < 6; ++chunk) {
    for (Rank rank = 0; rank < 6; ++rank) {
      const Place place{rank, 6, static_cast<uint32_t>(chunk), chunk, &groups};
      for (const Step& step : (*FindCollective("hierarchical"))->steps(place)) {
        const auto group = [&](Rank of) {
          return std::find_if(groups.begin(), groups.end(), [&](const auto& ranks) {
            return std::find(ranks.begin(), ranks.end(), of) != ranks.end();
          });
        };
        if (group(rank) == group(step.peer)) continue;
        EXPECT_EQ(group(rank)->front(), rank);
        EXPECT_EQ(group(step.peer)->front(), step.peer);
      }
    }
  }
  const std::vector<Load> loads = LoadsOf("hierarchical", 6, groups);
  EXPECT_NEAR(loads[0].sent, 1, 1e-9);
  EXPECT_NEAR(loads[2].sent, 2 + 2.0 * 2 / 3, 1e-9);
  EXPECT_NEAR(loads[5].sent, 2.0 * 2 / 3, 1e-9);
}

TEST(Algorithms, ButterflyOfEightNeedsThreeExchangesEachWay) {
  const auto steps = (*FindCollective("butterfly"))->steps({5, 8, 5, 5, nullptr});
  const std::vector<Step> expected = {{Verb::kAdd, 1},  {Verb::kAdd, 7},  {Verb::kAdd, 4},
                                      {Verb::kSend, 4}, {Verb::kSend, 7}, {Verb::kSend, 1}};
  EXPECT_EQ(steps, expected);
}

TEST(Algorithms, AnUnknownNameIsAnsweredWithTheList) {
  const auto found = FindCollective("rings");
  EXPECT_EQ(found.code(), StatusCode::kNotFound);
  EXPECT_NE(found.status().ToString().find("ring, tree, butterfly, hierarchical"),
            std::string::npos);
}

}  // namespace
}  // namespace motley
