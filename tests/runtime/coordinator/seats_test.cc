// SPDX-License-Identifier: Apache-2.0
#include "runtime/coordinator/seats.h"

#include <gtest/gtest.h>

#include <set>

namespace motley {
namespace {

// Seats of three workers, with the peers that are silent.
struct SeatsTest : testing::Test {
  static wire::JoinT Join(uint64_t process, Incarnation incarnation, int32_t hint = -1) {
    wire::JoinT join;
    join.node = process;
    join.incarnation = incarnation;
    join.index_hint = hint;
    return join;
  }
  std::optional<WorkerId> Find(const wire::JoinT& join) const {
    return seats.Find(join, [this](PeerId peer) { return silent.contains(peer); });
  }
  // Gives all three seats to peers 10, 11 and 12, of processes 20, 21 and 22.
  void FillAll() {
    for (WorkerId worker = 0; worker < 3; ++worker) {
      seats[worker] = {10 + worker, 30 + worker, "", {"node", "cpu", "host"}, 20 + worker};
    }
  }

  Seats seats{3};
  std::set<PeerId> silent;
};

TEST_F(SeatsTest, AHintIsFollowedWhereNobodySits) {
  EXPECT_EQ(Find(Join(1, 1, 2)), 2u);
  seats[2].peer = 5;
  EXPECT_EQ(Find(Join(1, 1, 2)), 0u);
  EXPECT_EQ(Find(Join(1, 1, 3)), 0u);
}

TEST_F(SeatsTest, AProcessTakesItsOwnSeatAgain) {
  FillAll();
  EXPECT_EQ(Find(Join(21, 40, 0)), 1u);
  seats[0].peer = 0;
  EXPECT_EQ(Find(Join(21, 40, 0)), 1u);
  // A process that does not say which it is has no own seat.
  EXPECT_EQ(Find(Join(0, 40)), 0u);
}

TEST_F(SeatsTest, SeatsThatNobodyHadComeFirst) {
  seats[0].incarnation = 7;
  EXPECT_EQ(Find(Join(1, 1)), 1u);
  seats[1].peer = 5, seats[1].incarnation = 8;
  seats[2].incarnation = 9;
  EXPECT_EQ(Find(Join(1, 1)), 0u);
}

TEST_F(SeatsTest, ANewcomerTakesTheSeatOfASilentOrOverdueWorker) {
  FillAll();
  EXPECT_EQ(Find(Join(1, 1)), std::nullopt);
  seats[2].overdue = true;
  EXPECT_EQ(Find(Join(1, 1)), 2u);
  silent = {11};
  EXPECT_EQ(Find(Join(1, 1)), 1u);
}

TEST_F(SeatsTest, AnIncarnationMayJoinOnce) {
  FillAll();
  EXPECT_TRUE(seats.Check(Join(1, 40), {}).ok());
  EXPECT_EQ(seats.Check(Join(1, 31), {}).code(), StatusCode::kConflict);
  EXPECT_EQ(seats.Check(Join(1, 0), {}).code(), StatusCode::kInvalidArgument);
}

TEST_F(SeatsTest, ABannedNodeStaysOutUnderItsName) {
  FillAll();
  seats.Ban(1);
  EXPECT_EQ(seats.Check(Join(1, 40), {"node", "cpu", "host"}).code(), StatusCode::kPermission);
  EXPECT_TRUE(seats.Check(Join(1, 40), {"other", "cpu", "host"}).ok());
  EXPECT_TRUE(seats.Check(Join(1, 40), {"node", "gpu", "host"}).ok());
}

// A process that its supervisor starts again may get another seat.
TEST_F(SeatsTest, ANodeIsKnownByItsLossesInAllSeats) {
  FillAll();
  seats[2].origin.name = "other";
  EXPECT_EQ(seats.TimesLost(0), 0u);
  seats.Leave(0);
  EXPECT_EQ(seats[0].peer, 0u);
  seats.Leave(1);
  EXPECT_EQ(seats.TimesLost(0), 1u) << "two workers of this origin were lost once each";
  EXPECT_EQ(seats.TimesLost(1), 1u);
  seats.Leave(0);
  EXPECT_EQ(seats.TimesLost(1), 2u) << "one of them for the second time";
  EXPECT_EQ(seats.TimesLost(2), 0u);
  seats[0].origin = seats[2].origin;
  EXPECT_EQ(seats.TimesLost(0), 0u) << "another node sits there now";
}

}  // namespace
}  // namespace motley
