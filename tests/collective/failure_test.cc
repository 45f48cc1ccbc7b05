// SPDX-License-Identifier: Apache-2.0
// Members that are lost, silent or wrong: every other member gets an error, and none waits on.
#include <gtest/gtest.h>

#include "tests/collective/collective_rig.h"

namespace motley {
namespace {

using testing::Message;

class CollectiveFailures : public testing::TestWithParam<std::string> {
 protected:
  static std::vector<Rank> AllBut(uint32_t members, Rank left_out) {
    std::vector<Rank> ranks;
    for (Rank rank = 0; rank < members; ++rank) {
      if (rank != left_out) ranks.push_back(rank);
    }
    return ranks;
  }
  static void ExpectError(const Group& group, Rank rank, StatusCode code, const std::string& text) {
    ASSERT_TRUE(group.end(rank).has_value());
    EXPECT_EQ(group.end(rank)->code(), code) << group.end(rank)->ToString();
    EXPECT_NE(group.end(rank)->ToString().find(text), std::string::npos)
        << group.end(rank)->ToString();
  }
};

TEST_P(CollectiveFailures, ALostMemberEndsTheUpdateForAllOthers) {
  constexpr uint32_t kMembers = 5;
  int finished = 0, failed = 0;
  for (Rank lost = 0; lost < kMembers; ++lost) {
    for (int tasks = 0; tasks < 600; tasks += 29) {
      SCOPED_TRACE(Message() << "member " << lost << " is lost after " << tasks << " tasks");
      const auto world = MakeSimulatedWorld(static_cast<uint64_t>(tasks));
      Group group(*world, GetParam(), kMembers, {.chunk = 8, .silence = Duration::zero()});
      ASSERT_TRUE(group.Connect());
      for (Rank rank = 0; rank < kMembers; ++rank) {
        group.Contribute(rank, 1, {std::vector<float>(101, 1), {}});
      }
      world->RunUntil([left = tasks]() mutable { return left-- == 0; });
      group.Kill(lost);
      const std::vector<Rank> others = AllBut(kMembers, lost);
      ASSERT_TRUE(group.RunUntilEnded(others));
      for (const Rank rank : others) {
        // Those that already have the sum learn with the next update that the group has ended.
        if (group.end(rank)->ok()) {
          EXPECT_EQ(group.sum(rank).vector, std::vector<float>(101, kMembers));
          ++finished;
        } else {
          ++failed;
          ExpectError(group, rank, StatusCode::kUnavailable, "member " + std::to_string(lost));
        }
        group.Contribute(rank, 2, {std::vector<float>(5, 1), {}});
      }
      ASSERT_TRUE(group.RunUntilEnded(others));
      for (const Rank rank : others) {
        ExpectError(group, rank, StatusCode::kUnavailable, "member " + std::to_string(lost));
      }
    }
  }
  EXPECT_GT(finished, 0);
  EXPECT_GT(failed, 0);
}

TEST_P(CollectiveFailures, MembersMayLeaveAfterTheirLastUpdate) {
  constexpr uint32_t kMembers = 6;
  const auto world = MakeSimulatedWorld(1);
  Group group(*world, GetParam(), kMembers, {.chunk = 8});
  ASSERT_TRUE(group.Connect());
  for (Rank rank = 0; rank < kMembers; ++rank) {
    group.Contribute(rank, 1, {std::vector<float>(101, 1), {}});
  }
  std::vector<Rank> left;
  while (left.size() < kMembers) {
    ASSERT_TRUE(world->RunUntil([&] {
      for (Rank rank = 0; rank < kMembers; ++rank) {
        if (std::count(left.begin(), left.end(), rank) == 0 && group.end(rank)) {
          left.push_back(rank);
          return true;
        }
      }
      return false;
    }));
    EXPECT_TRUE(group.end(left.back())->ok()) << group.end(left.back())->ToString();
    group.Kill(left.back());
  }
}

TEST_P(CollectiveFailures, ALostMemberEndsTheUpdateOverTcp) {
  const auto world = MakeTcpWorld();
  Group group(*world, GetParam(), 4, {.chunk = 20'000});
  ASSERT_TRUE(group.Connect());
  for (const Rank rank : AllBut(4, 2)) {
    group.Contribute(rank, 1, {std::vector<float>(500'000, 1), {}});
  }
  group.Kill(2);
  ASSERT_TRUE(group.RunUntilEnded(AllBut(4, 2)));
  for (const Rank rank : AllBut(4, 2)) {
    ExpectError(group, rank, StatusCode::kUnavailable, "member 2");
  }
}

TEST_P(CollectiveFailures, ASilentMemberEndsTheUpdateInBoundedTime) {
  const auto world = MakeVirtualWorld();
  Group group(*world, GetParam(), 4, {.chunk = 8, .silence = std::chrono::seconds(10)});
  ASSERT_TRUE(group.Connect());
  const Time begin = world->loop().Now();
  for (const Rank rank : AllBut(4, 1)) group.Contribute(rank, 1, {std::vector<float>(99, 1), {}});
  ASSERT_TRUE(group.RunUntilEnded(AllBut(4, 1)));
  EXPECT_LE(world->loop().Now() - begin, std::chrono::seconds(11));
  for (const Rank rank : AllBut(4, 1)) {
    ExpectError(group, rank, StatusCode::kUnavailable, "for 10 s");
  }
  group.Contribute(1, 1, {std::vector<float>(99, 1), {}});
  ASSERT_TRUE(group.RunUntilEnded({1}));
  ExpectError(group, 1, StatusCode::kUnavailable, "gave up");
}

TEST_P(CollectiveFailures, DifferentLengthsAreAnErrorForAll) {
  const auto world = MakeVirtualWorld();
  Group group(*world, GetParam(), 3, {.chunk = 8});
  ASSERT_TRUE(group.Connect());
  for (const Rank rank : {0u, 1u, 2u}) {
    group.Contribute(rank, 1, {std::vector<float>(rank == 1 ? 98 : 99, 1), {}});
  }
  ASSERT_TRUE(group.RunUntilEnded({0, 1, 2}));
  for (const Rank rank : {0u, 1u, 2u}) {
    EXPECT_FALSE(group.end(rank)->ok());
    EXPECT_NE(group.end(rank)->ToString().find("98"), std::string::npos);
  }
}

TEST_P(CollectiveFailures, MessagesOfAnotherIncarnationAreDiscarded) {
  const auto world = MakeVirtualWorld();
  Group group(*world, GetParam(), 2, {});
  ASSERT_TRUE(group.Connect());
  Header header;
  header.kind = FrameKind::kCollective;
  header.incarnation = 5;
  header.length = 4;
  EXPECT_TRUE(group.collective(0).OnPayload(group.PeerOf(0, 1), header).empty());
  group.collective(0).OnPayloadDone(group.PeerOf(0, 1), header);
  for (const Rank rank : {0u, 1u}) group.Contribute(rank, 1, {{1, 2, 3}, {}});
  ASSERT_TRUE(group.RunUntilEnded({0, 1}));
  EXPECT_EQ(group.sum(0).vector, (std::vector<float>{2, 4, 6}));
}

TEST_P(CollectiveFailures, APartThatComesTwiceIsAnError) {
  const auto world = MakeVirtualWorld();
  Group group(*world, GetParam(), 2, {});
  ASSERT_TRUE(group.Connect());
  Header header;
  header.kind = FrameKind::kCollective;
  header.step = 1;
  header.row_id = static_cast<uint32_t>(MemberMessage::kAdd);
  header.total = 1;
  header.length = 4;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(group.collective(0).OnPayload(group.PeerOf(0, 1), header).size(), 4u);
    group.collective(0).OnPayloadDone(group.PeerOf(0, 1), header);
  }
  for (const Rank rank : {0u, 1u}) group.Contribute(rank, 1, {{1}, {}});
  ASSERT_TRUE(group.RunUntilEnded({0, 1}));
  ExpectError(group, 0, StatusCode::kDataError, "twice");
  ExpectError(group, 1, StatusCode::kUnavailable, "twice");
}

INSTANTIATE_TEST_SUITE_P(Every, CollectiveFailures, testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const auto& algorithm : CollectiveAlgorithms()) {
                             names.push_back(algorithm.name);
                           }
                           return names;
                         }()),
                         [](const auto& test) { return test.param; });

TEST(CollectiveOptions, GroupsHaveToFitTheMembers) {
  const auto world = MakeVirtualWorld();
  const auto transport = world->MakeTransport();
  Members members;
  members.peers = {0, 1, 2};
  const auto made = Collective::Create(world->loop(), *transport, **FindCollective("hierarchical"),
                                       members, {.groups = {{0, 1}}});
  EXPECT_EQ(made.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(made.status().ToString().find("member 2"), std::string::npos);
}

}  // namespace
}  // namespace motley
