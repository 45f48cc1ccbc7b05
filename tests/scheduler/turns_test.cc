// SPDX-License-Identifier: Apache-2.0
// Turns (r2sp): when they begin, and what part of a batch each of them has.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/random.h"
#include "scheduler/sync/batch_parts.h"
#include "scheduler/sync/bounded_staleness.h"
#include "scheduler/sync/even_turns.h"

namespace motley {
namespace {

Time At(double seconds) { return Time{} + FromSeconds(seconds); }
double Seconds(Time time) { return ToSeconds(time - Time{}); }

TEST(EvenTurns, BeginAtOnceBeforeTheCycleIsKnown) {
  EvenTurns turns(2);
  EXPECT_LE(turns.Next({0, 1}), At(0));
  turns.Opened(0, At(3));
  EXPECT_LE(turns.Next({0, 1}), At(3));
}

TEST(EvenTurns, AreAsFarApartAsTheCycleOfTheSlowestAllows) {
  EvenTurns turns(4);
  for (const WorkerId id : {0, 1, 2}) turns.Opened(id, At(0));
  turns.Applied(0, At(0.4));
  turns.Applied(1, At(0.8));
  turns.Opened(0, At(1));
  const double gap = EvenTurns::kGap;
  EXPECT_NEAR(Seconds(turns.Next({0, 1})), 1 + gap * 0.8 / 2, 1e-6);
  EXPECT_NEAR(Seconds(turns.Next({0, 1, 2, 3})), 1 + gap * 0.8 / 4, 1e-6)
      << "two are not known yet";
  EXPECT_NEAR(Seconds(turns.Next({0})), 1 + gap * 0.4, 1e-6) << "the slow one is gone";
}

TEST(EvenTurns, ForgiveAPause) {
  EvenTurns turns(1);
  double now = 0;
  for (const double length : {1.0, 20.0, 1.1}) {
    turns.Opened(0, At(now));
    turns.Applied(0, At(now += length));
  }
  turns.Opened(0, At(now));
  EXPECT_NEAR(Seconds(turns.Next({0})), now + EvenTurns::kGap, 1e-6);
  for (int again = 0; again < 4; ++again) {
    turns.Applied(0, At(now += 2));
    turns.Opened(0, At(now));
  }
  EXPECT_NEAR(Seconds(turns.Next({0})), now + 2 * EvenTurns::kGap, 1e-6) << "it is slower now";
}

TEST(BatchParts, FollowTheSpeeds) {
  BatchParts parts(3, {3, 12});
  const std::vector<WorkerId> workers = {0, 1, 2};
  const std::vector<double> speeds = {3, 2, 1};
  for (int cycle = 0; cycle < 3; ++cycle) {
    const std::vector<BatchPart> expected = {{0, 6}, {6, 10}, {10, 12}};
    for (const WorkerId id : workers) {
      const BatchPart part = parts.Next(id, workers, speeds);
      EXPECT_EQ(part, expected[id]);
      EXPECT_EQ(parts.Next(id, workers, speeds), part) << "asking changes nothing";
      parts.Took(id, part);
    }
  }
}

TEST(BatchParts, HaveAPartitionAtLeast) {
  BatchParts parts(2, {2, 4});
  const BatchPart slow = parts.Next(0, {0, 1}, {0.001, 1});
  EXPECT_EQ(slow, (BatchPart{0, 1}));
  const BatchPart fast = parts.Next(1, {0, 1}, {0.001, 1});
  EXPECT_EQ(fast, (BatchPart{0, 3}));
}

// Workers come and go and change their speeds. Each cycle's parts are its batch, and no part takes
// its worker much longer than those of the others.
TEST(BatchParts, AreTheWholeBatchInRandomCourses) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    Random random(seed, Stream::kTest);
    const auto turns = static_cast<uint32_t>(1 + random.Below(9));
    const auto partitions = static_cast<uint32_t>(turns * 40 + random.Below(300));
    BatchParts parts(turns, {turns, partitions});
    for (int cycle = 0; cycle < 20; ++cycle) {
      std::vector<WorkerId> workers;
      for (WorkerId id = 0; id < turns; ++id) {
        if (random.Chance(0.8)) workers.push_back(id);
      }
      if (workers.empty()) workers.push_back(0);
      std::vector<double> speeds(workers.size());
      for (double& speed : speeds) speed = 1 + 3 * random.NextDouble();
      PartitionId next = 0;
      double longest = 0, shortest = std::numeric_limits<double>::infinity();
      for (uint32_t turn = 0; turn < turns; ++turn) {
        const size_t i = workers.size() == turns ? turn : random.Below(workers.size());
        const BatchPart part = parts.Next(workers[i], workers, speeds);
        ASSERT_EQ(part.first, next);
        ASSERT_GT(part.last, part.first);
        next = part.last;
        parts.Took(workers[i], part);
        const double takes = (part.last - part.first) / speeds[i];
        longest = std::max(longest, takes);
        shortest = std::min(shortest, takes);
      }
      ASSERT_EQ(next, partitions) << "seed " << seed;
      if (workers.size() == turns) {
        ASSERT_LT(longest, 1.35 * shortest) << "seed " << seed;
      }
    }
  }
}

// Four equal workers, whose updates take a second. From the second cycle on, turns begin about
// every quarter of it, although all have begun at once.
TEST(Turns, SpreadOverTheCycle) {
  constexpr uint32_t kWorkers = 4;
  BoundedStaleness policy(kWorkers, 1000, {.one_each = true, .in_order = true}, {kWorkers, 100});
  Membership members(kWorkers, 100);
  for (WorkerId id = 0; id < kWorkers; ++id) {
    members.Join(id, id + 1, At(0));
    members.Free(WorkerFree{id, 0, {}, 0}, At(0));
    policy.Enters(id);
  }
  std::vector<double> began;
  std::vector<std::pair<double, WorkerId>> ends;
  double now = 0;
  while (now < 20) {
    while (const auto next = policy.Next(members, At(now))) {
      EXPECT_EQ(next->part->last - next->part->first, 25u) << "a quarter of the batch";
      policy.Opened(*next, At(now));
      members[static_cast<WorkerId>(next->lane)].free = false;
      began.push_back(now);
      ends.emplace_back(now + 1, static_cast<WorkerId>(next->lane));
    }
    const Time due = policy.Due(members);
    double then = due == kNever ? 1e9 : ToSeconds(due - Time{});
    if (!ends.empty() && ends.front().first <= then) {
      const auto [end, id] = ends.front();
      ends.erase(ends.begin());
      now = end;
      members[id].free = true;
      policy.Committed(id, At(now));
      continue;
    }
    ASSERT_GT(then, now) << "a wait that is over lets a turn begin";
    now = then;
  }
  for (size_t i = 2 * kWorkers; i < began.size(); ++i) {
    EXPECT_NEAR(began[i] - began[i - 1], 0.25, 0.08) << "turn " << i;
  }
  EXPECT_GT(began.size(), 70u);
}

}  // namespace
}  // namespace motley
