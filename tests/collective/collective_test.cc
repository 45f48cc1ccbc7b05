// SPDX-License-Identifier: Apache-2.0
// The suite that every algorithm of the list passes.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "tests/collective/collective_rig.h"

namespace motley {
namespace {

constexpr uint32_t kMost = 9;  // Members.

class CollectiveSuite : public testing::TestWithParam<std::string> {
 protected:
  static std::vector<Rank> All(uint32_t members) {
    std::vector<Rank> ranks(members);
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
  }

  // Sums contributions drawn from the seed, and returns what the members have.
  std::vector<Contribution> Sums(CollectiveWorld& world, uint32_t members, uint64_t seed,
                                 size_t length, size_t chunk, bool whole) {
    Group group(world, GetParam(), members, {.chunk = chunk});
    EXPECT_TRUE(group.Connect());
    for (const Rank rank : All(members)) {
      group.Contribute(rank, 1, RandomContribution(seed + rank, length, 2, whole));
    }
    EXPECT_TRUE(group.RunUntilEnded(All(members)));
    std::vector<Contribution> sums;
    for (const Rank rank : All(members)) {
      EXPECT_TRUE(group.end(rank)->ok()) << group.end(rank)->ToString();
      sums.push_back(group.sum(rank));
    }
    return sums;
  }

  static void ExpectSameBits(const std::vector<Contribution>& sums) {
    for (const Contribution& sum : sums) {
      ASSERT_EQ(sum.vector.size(), sums[0].vector.size());
      EXPECT_EQ(std::memcmp(sum.vector.data(), sums[0].vector.data(), sum.vector.size() * 4), 0);
      EXPECT_EQ(std::memcmp(sum.beside.data(), sums[0].beside.data(), sum.beside.size() * 8), 0);
    }
  }
};

TEST_P(CollectiveSuite, SumsExactlyForEveryNumberOfMembersAndLength) {
  for (uint32_t members = 1; members <= kMost; ++members) {
    for (const size_t length : {0, 1, 2, 3, 5, 8, 17, 1000, 4097}) {
      SCOPED_TRACE(testing::Message() << members << " members, " << length << " values");
      const auto world = MakeVirtualWorld();
      const auto sums = Sums(*world, members, 7, length, /*chunk=*/64, /*whole=*/true);
      const Contribution expected = DirectSumOf(7, members, length, /*whole=*/true);
      for (const Contribution& sum : sums) {
        EXPECT_EQ(sum.vector, expected.vector);
        EXPECT_EQ(sum.beside, expected.beside);
      }
    }
  }
}

TEST_P(CollectiveSuite, GivesAllMembersTheSameBits) {
  for (uint32_t members = 2; members <= kMost; ++members) {
    const auto world = MakeVirtualWorld();
    const auto sums = Sums(*world, members, 3, 1001, 32, /*whole=*/false);
    ExpectSameBits(sums);
    for (size_t i = 0; i < 1001; ++i) {
      double expected = 0, size = 0;
      for (Rank rank = 0; rank < members; ++rank) {
        const double term = RandomContribution(3 + rank, 1001, 2, false).vector[i];
        expected += term;
        size += std::abs(term);
      }
      ASSERT_NEAR(sums[0].vector[i], expected, 1e-6 * size);
    }
  }
}

TEST_P(CollectiveSuite, HasTheSameBitsOverTcp) {
  for (const uint32_t members : {2u, 3u, 6u}) {
    const auto tcp = MakeTcpWorld();
    const auto virtual_world = MakeVirtualWorld();
    // Chunks of more than 64 KiB, so that messages arrive in parts.
    auto sums = Sums(*tcp, members, 5, 300'001, 20'000, /*whole=*/false);
    const auto others = Sums(*virtual_world, members, 5, 300'001, 20'000, /*whole=*/false);
    sums.insert(sums.end(), others.begin(), others.end());
    ExpectSameBits(sums);
  }
}

TEST_P(CollectiveSuite, HasTheSameBitsWhateverTheOrderOfArrival) {
  for (uint32_t members = 2; members <= kMost; ++members) {
    std::vector<Contribution> sums;
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      const auto world = MakeSimulatedWorld(seed);
      const auto more = Sums(*world, members, 3, 1001, 32, /*whole=*/false);
      sums.insert(sums.end(), more.begin(), more.end());
    }
    ExpectSameBits(sums);
  }
}

TEST_P(CollectiveSuite, SumsOneUpdateAfterTheOther) {
  constexpr uint64_t kUpdates = 30;
  for (const uint32_t members : {2u, 5u, 8u}) {
    const auto world = MakeSimulatedWorld(members);
    Group group(*world, GetParam(), members, {.chunk = 16});
    ASSERT_TRUE(group.Connect());
    for (const Rank rank : All(members)) {
      group.Repeat(rank, kUpdates, [rank](uint64_t update) {
        return Contribution{std::vector<float>(37 * update, static_cast<float>(update + rank)),
                            {static_cast<double>(rank)}};
      });
    }
    ASSERT_TRUE(group.RunUntilEnded(All(members)));
    const uint32_t ranks = members * (members - 1) / 2;
    for (const Rank rank : All(members)) {
      ASSERT_TRUE(group.end(rank)->ok()) << group.end(rank)->ToString();
      EXPECT_EQ(group.sum(rank).vector,
                std::vector<float>(37 * kUpdates, static_cast<float>(members * kUpdates + ranks)));
      EXPECT_EQ(group.sum(rank).beside, std::vector<double>{static_cast<double>(ranks)});
    }
  }
}

TEST_P(CollectiveSuite, WaitsForTheLastMember) {
  const auto world = MakeVirtualWorld();
  Group group(*world, GetParam(), 4, {.chunk = 8, .silence = std::chrono::seconds(60)});
  ASSERT_TRUE(group.Connect());
  for (const Rank rank : {0u, 1u, 3u}) group.Contribute(rank, 1, {std::vector<float>(99, 1), {}});
  bool late = false;
  world->loop().After(std::chrono::seconds(40), [&] {
    for (const Rank rank : {0u, 1u, 3u}) EXPECT_FALSE(group.end(rank).has_value());
    group.Contribute(2, 1, {std::vector<float>(99, 1), {}});
    late = true;
  });
  ASSERT_TRUE(group.RunUntilEnded(All(4)));
  EXPECT_TRUE(late);
  for (const Rank rank : All(4)) EXPECT_EQ(group.sum(rank).vector, std::vector<float>(99, 4));
}

TEST_P(CollectiveSuite, GroupsMayChangeBetweenUpdates) {
  const auto world = MakeVirtualWorld();
  Group group(*world, GetParam(), 5, {.chunk = 8});
  ASSERT_TRUE(group.Connect());
  const std::vector<Groups> changes = {{{4, 0, 2}, {1, 3}}, {{0}, {1}, {2}, {3}, {4}}};
  for (const Rank rank : All(5)) {
    group.Repeat(rank, 3, [&group, &changes, rank](uint64_t update) {
      if (update > 1) {
        EXPECT_TRUE(group.collective(rank).SetGroups(changes[update - 2]).ok());
      }
      return Contribution{std::vector<float>(99, static_cast<float>(update)), {}};
    });
  }
  ASSERT_TRUE(group.RunUntilEnded(All(5)));
  for (const Rank rank : All(5)) {
    ASSERT_TRUE(group.end(rank)->ok()) << group.end(rank)->ToString();
    EXPECT_EQ(group.sum(rank).vector, std::vector<float>(99, 15));
  }
  EXPECT_FALSE(group.collective(0).SetGroups({{0, 1}}).ok());
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const CollectiveAlgorithm& algorithm : CollectiveAlgorithms()) {
    names.push_back(algorithm.name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Every, CollectiveSuite, testing::ValuesIn(Names()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace motley
