// SPDX-License-Identifier: Apache-2.0
#include "runtime/holders/shard_moves.h"

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
using testing::IsEmpty;
using testing::Pair;
using Kind = ShardMoves::Move::Kind;

// Shards with these owners, in a job of so many workers. Nodes answer at once.
struct Job {
  Job(const std::vector<WorkerId>& owners, WorkerId workers, bool reads, uint32_t followers = 1)
      : placement(transport, SetupOf(owners, reads, followers), [](WorkerId worker) {
          return LinkLoad::To{worker + 1, Header()};
        }) {
    std::map<WorkerId, std::string> members;
    for (WorkerId worker = 0; worker < workers; ++worker) members[worker] = "somewhere";
    placement.Place(owners, members, State());
    moves.Begin();
    AnswerAll();
    Connect();
  }
  // All workers have connections to all.
  void Connect() {
    for (const auto& [worker, address] : placement.choice().members()) {
      for (const auto& [other, at] : placement.choice().members()) moves.Reached(worker, other);
    }
  }
  void Join(WorkerId worker, const std::string& address = "elsewhere") {
    placement.Joined(worker, address);
    Connect();
  }
  static ShardPlacement::Setup SetupOf(const std::vector<WorkerId>& owners, bool reads,
                                       uint32_t followers) {
    const auto shards = static_cast<uint32_t>(owners.size());
    ShardPlacement::Setup setup{Route(4 * owners.size(), shards), 4, followers, {}};
    setup.hold.reads = reads;
    return setup;
  }
  ShardState State() const {
    ShardState state;
    state.version = version;
    state.parameters = std::make_shared<std::vector<float>>(placement.count());
    state.arrays = std::make_shared<std::vector<float>>();
    return state;
  }
  // A node says that it holds the shard. A follower that reads has read a version.
  void Answer(uint32_t shard, WorkerId node, uint32_t epoch) {
    wire::ShardHeldT held;
    held.shard = shard;
    held.epoch = epoch;
    EXPECT_TRUE(placement.OnHeld(node, held).ok());
  }
  // All nodes hold what they were given.
  void AnswerAll() {
    for (uint32_t shard = 0; shard < placement.shards().size(); ++shard) {
      const ShardPlacement::Shard placed = placement.shards()[shard];
      for (const WorkerId node : placed.nodes()) Answer(shard, node, placed.epoch);
    }
  }
  void Lose(WorkerId worker) {
    placement.Left(worker, 1);
    EXPECT_EQ(placement.Lose(worker).gone, std::nullopt);
    AnswerAll();
  }
  // Does what should be done before the next update, and the update. Returns the kind of move.
  std::optional<Kind> Step() {
    const ShardState state = State();
    const ShardState* const copied = placement.reads() ? nullptr : &state;
    moves.Fill(version, moves.Lacking(version), copied);
    AnswerAll();
    const auto move = moves.Next(version);
    EXPECT_EQ(moves.Next(version), std::nullopt) << "at most one for each update";
    if (move && move->kind == Kind::kFollow) {
      placement.AddFollower(move->shard, move->node, copied);
    } else if (move && move->kind == Kind::kHandOver) {
      placement.HandOver(move->shard, move->node);
    } else if (move) {
      placement.DropFollower(move->shard, move->node);
    }
    AnswerAll();
    EXPECT_TRUE(placement.settled());
    for (uint32_t shard = 0; read && shard < placement.shards().size(); ++shard) {
      for (const WorkerId node : placement.shards()[shard].nodes())
        placement.coming().CaughtUp(shard, node);
    }
    ++version;
    return move ? std::optional(move->kind) : std::nullopt;
  }
  void Steps(int count) {
    while (count-- > 0) Step();
  }
  // How many shards each worker owns.
  std::map<WorkerId, int> Owned() const {
    std::map<WorkerId, int> owned;
    for (const auto& shard : placement.shards()) ++owned[shard.owner];
    return owned;
  }
  void ExpectFollowers(size_t count) const {
    for (const auto& shard : placement.shards()) {
      EXPECT_EQ(shard.followers.size(), count);
      EXPECT_FALSE(shard.followers.contains(shard.owner));
    }
  }

  HeldTransport transport;
  ShardPlacement placement;
  ShardMoves moves{placement};
  uint64_t version = 0;
  bool read = true;  // Followers read new values.
};

TEST(ShardMoves, LeaveThePlacementAsItIs) {
  for (const bool reads : {false, true}) {
    Job job({0, 1, 2, 0, 1, 2, 2}, 4, reads);
    for (int i = 0; i < 40; ++i) EXPECT_EQ(job.Step(), std::nullopt);
    EXPECT_THAT(job.Owned(), ElementsAre(Pair(0, 2), Pair(1, 2), Pair(2, 3)));
  }
}

TEST(ShardMoves, GiveAWorkerThatReplacesALostOneAsMuchAsThatHad) {
  for (const bool reads : {false, true}) {
    Job job({0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2}, 3, reads);
    job.Lose(1);
    job.Steps(10);
    EXPECT_EQ(job.Owned().count(1), 0u);
    job.Join(1);
    job.Steps(80);
    EXPECT_THAT(job.Owned(), ElementsAre(Pair(0, 4), Pair(1, 4), Pair(2, 4)));
    job.ExpectFollowers(1);
    EXPECT_THAT(job.moves.TakeGained(), ElementsAre(Pair(1, 4)));
    EXPECT_THAT(job.moves.TakeGained(), IsEmpty());
    // Neighbouring shards have different owners again.
    for (uint32_t shard : {1, 4, 7, 10}) EXPECT_EQ(job.placement.shards()[shard].owner, 1u);
  }
}

TEST(ShardMoves, GiveAWorkerThatNobodyKnewAMeanPart) {
  for (const bool reads : {false, true}) {
    Job job({0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1}, 2, reads);
    job.Join(5);
    job.Steps(100);
    EXPECT_THAT(job.Owned(), ElementsAre(Pair(0, 3), Pair(1, 5), Pair(5, 4)));
    job.ExpectFollowers(1);
  }
}

TEST(ShardMoves, GiveNothingToNodesThatCannotHoldAny) {
  Job job({0, 0, 1, 1}, 2, true);
  job.Join(2, "");
  job.placement.choice().Shun(1, 1000);
  job.Steps(10);
  EXPECT_EQ(job.Owned().count(2), 0u);
  EXPECT_EQ(job.Owned().at(0), 4) << "a late owner whose shards others have keeps none";
}

// One that was late owns shards again after the updates for which it was shunned.
TEST(ShardMoves, GiveBackWhatALateWorkerHad) {
  for (const bool reads : {false, true}) {
    Job job({0, 1, 2, 0, 1, 2}, 3, reads);
    job.placement.choice().Shun(2, 16);
    EXPECT_EQ(job.placement.Lose(2).gone, std::nullopt);
    job.AnswerAll();
    job.Steps(16);
    EXPECT_EQ(job.Owned().count(2), 0u);
    if (!reads) {
      job.Steps(40);
      EXPECT_EQ(job.Owned().count(2), 0u) << "it may hang, and the job would wait for it";
      job.placement.choice().Heard(2);
    }
    job.Steps(40);
    EXPECT_THAT(job.Owned(), ElementsAre(Pair(0, 2), Pair(1, 2), Pair(2, 2)));
    job.ExpectFollowers(1);
  }
}

// One that was lost again and again has to stay for a while, and a newcomer in its place has not.
TEST(ShardMoves, GiveNothingToAWorkerThatRests) {
  for (const bool reads : {false, true}) {
    Job job({0, 1, 2, 0, 1, 2}, 3, reads);
    job.Lose(2);
    job.Join(2);
    job.placement.choice().Rest(2, 16);
    job.Steps(16);
    EXPECT_EQ(job.Owned().count(2), 0u);
    job.Steps(40);
    EXPECT_EQ(job.Owned()[2], 2);
    job.Lose(2);
    job.Join(2);
    job.placement.choice().Rest(2, 1000);
    job.Lose(2);
    job.Join(2);
    job.Steps(40);
    EXPECT_THAT(job.Owned(), ElementsAre(Pair(0, 2), Pair(1, 2), Pair(2, 2)));
    job.ExpectFollowers(1);
  }
}

TEST(ShardMoves, LetAWorkerThatRestsFollowIfNobodyElseCan) {
  for (const bool reads : {false, true}) {
    Job job({0, 1}, 2, reads);
    job.Lose(1);
    job.Join(1);
    job.placement.choice().Rest(1, 16);
    job.Step();
    job.ExpectFollowers(1);
    job.Steps(14);
    EXPECT_EQ(job.Owned().at(0), 2);
    job.Steps(30);
    EXPECT_THAT(job.Owned(), ElementsAre(Pair(0, 1), Pair(1, 1)));
  }
}

// With two workers nobody else can follow. The one that was late does so as soon as it is there.
TEST(ShardMoves, LetALateWorkerFollowIfNobodyElseCan) {
  for (const bool reads : {false, true}) {
    Job job({0, 1}, 2, reads);
    job.placement.choice().Shun(1, 16);
    EXPECT_EQ(job.placement.Lose(1).gone, std::nullopt);
    job.AnswerAll();
    if (!reads) {
      job.Step();
      job.ExpectFollowers(0);  // It may hang, and a copy for it would hold up the job.
      job.placement.choice().Heard(1);
    }
    job.Step();
    job.ExpectFollowers(1);
    EXPECT_EQ(job.Owned().at(0), 2);
    job.Steps(30);
    EXPECT_THAT(job.Owned(), ElementsAre(Pair(0, 1), Pair(1, 1)));
  }
}

// A worker behind a wall may join. Others could not send it anything.
TEST(ShardMoves, GiveNothingToAWorkerThatOthersDoNotReach) {
  for (const bool reads : {false, true}) {
    Job job({0, 1, 0, 1}, 2, reads);
    job.placement.Joined(2, "behind a wall");
    job.moves.Reached(2, 2);
    job.moves.Reached(0, 2);
    for (int i = 0; i < 200; ++i) {
      job.Step();
      for (const auto& shard : job.placement.shards()) EXPECT_FALSE(shard.followers.empty());
    }
    EXPECT_EQ(job.Owned().count(2), 0u);
    job.moves.Reached(1, 2);
    job.moves.Reached(2, 0);
    job.Steps(100);
    EXPECT_EQ(job.Owned().at(2), 1);
    job.moves.Left(2);
    job.placement.Left(2, 1);
    EXPECT_EQ(job.placement.Lose(2).gone, std::nullopt);
  }
}

// A shard is lost with its owner if nobody follows it.
TEST(ShardMoves, LeaveAShardItsOnlyFollower) {
  for (const bool reads : {false, true}) {
    Job job({0, 0, 0, 0}, 1, reads);
    job.placement.Joined(1, "not connected yet");
    for (int i = 0; i < 200; ++i) {
      job.Step();
      job.ExpectFollowers(1);
    }
    EXPECT_EQ(job.Owned().count(1), 0u);
    job.Connect();
    job.Steps(100);
    EXPECT_THAT(job.Owned(), ElementsAre(Pair(0, 2), Pair(1, 2)));
  }
}

TEST(ShardMoves, TakeNothingFromAnOwnerThatCannotGetMore) {
  for (const bool reads : {false, true}) {
    Job job({0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2}, 3, reads);
    job.Lose(2);
    job.Join(2);
    while (job.Owned().count(2) == 0) job.Step();
    job.moves.Unreached(0, 2);
    const int owned = job.Owned().at(2);
    for (int i = 0; i < 200; ++i) {
      job.Step();
      EXPECT_EQ(job.Owned().at(2), owned);
    }
    job.moves.Reached(0, 2);
    job.Steps(200);
    EXPECT_THAT(job.Owned(), ElementsAre(Pair(0, 4), Pair(1, 4), Pair(2, 4)));
  }
}

// What the node that one worker cannot reach said of others still counts.
TEST(ShardMoves, GoOnBetweenOthersThanANodeThatIsNotReached) {
  for (const bool reads : {false, true}) {
    Job job({0, 1, 0, 1, 0, 1}, 3, reads);
    job.Join(3);
    job.moves.Unreached(0, 2);
    job.placement.choice().Shun(2, HolderChoice::kForever);
    job.Steps(100);
    EXPECT_GT(job.Owned()[3], 0);
  }
}

TEST(ShardMoves, DoNotWaitForAFollowerThatReadsNothing) {
  Job job({0, 0}, 1, true);
  job.read = false;
  job.Join(1);
  job.Step();
  for (const uint32_t shard : {0, 1}) {
    EXPECT_TRUE(job.placement.coming().contains(shard, 1));
    EXPECT_FALSE(job.placement.CanLose(0));
  }
  job.Steps(70);
  EXPECT_EQ(job.Owned().at(0), 2);
  job.read = true;
  job.Steps(100);
  EXPECT_THAT(job.Owned(), ElementsAre(Pair(0, 1), Pair(1, 1)));
}

// The owner before has all that its heir has. If that one is lost at once, nothing is.
TEST(ShardMoves, LoseNothingWithANewOwner) {
  for (const bool reads : {false, true}) {
    Job job({0, 0}, 2, reads);
    job.placement.HandOver(0, 1);
    EXPECT_FALSE(job.placement.settled());
    const ShardPlacement::Loss loss = job.placement.Lose(1);
    EXPECT_EQ(loss.gone, std::nullopt);
    EXPECT_EQ(job.placement.shards()[0].owner, 0u);
    EXPECT_EQ(job.placement.shards()[0].epoch, 3u);
  }
}

// An owner discards the sums of others, and reads nothing. So the owner before must know that it
// follows, before any update opens.
TEST(ShardMoves, WaitForBothNodesOfAHandover) {
  for (const bool reads : {false, true}) {
    for (const WorkerId first : {0, 1}) {
      Job job({0, 0}, 2, reads);
      job.placement.HandOver(0, 1);
      EXPECT_THAT(job.placement.Unsettled(), ElementsAre(0, 1));
      job.Answer(0, 0, /*epoch=*/1);
      job.Answer(0, 1, /*epoch=*/1);
      EXPECT_THAT(job.placement.Unsettled(), ElementsAre(0, 1)) << "that was before";
      job.Answer(0, first, /*epoch=*/2);
      EXPECT_THAT(job.placement.Unsettled(), ElementsAre(1 - first));
      EXPECT_FALSE(job.placement.settled());
      job.Answer(0, 1 - first, /*epoch=*/2);
      EXPECT_TRUE(job.placement.settled());
    }
  }
}

TEST(ShardMoves, CountOnlyShardsThatNewOwnersHave) {
  for (const bool lost : {false, true}) {
    Job job({0, 0}, 1, /*reads=*/true);
    job.Join(1);
    while (job.Owned().count(1) == 0) job.Step();
    if (lost) {
      job.moves.Left(1);
      job.Lose(1);
    }
    job.Steps(3);
    const ShardMoves::Gained gained = job.moves.TakeGained();
    EXPECT_EQ(gained.count(1), lost ? 0u : 1u);
  }
}

TEST(ShardMoves, NeedNoFollowersToStay) {
  for (const bool reads : {false, true}) {
    Job job({0, 0, 0, 0}, 1, reads, /*followers=*/0);
    job.Join(1);
    job.Steps(60);
    EXPECT_THAT(job.Owned(), ElementsAre(Pair(0, 2), Pair(1, 2)));
    job.ExpectFollowers(0);
  }
}

}  // namespace
}  // namespace motley
