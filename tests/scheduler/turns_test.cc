// SPDX-License-Identifier: Apache-2.0
// Turns (r2sp): when they begin, and what part of a batch each of them has.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <utility>
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

// The first updates of these workers, which say nothing about the cycle.
void Begin(EvenTurns& turns, const std::vector<WorkerId>& workers) {
  for (const WorkerId id : workers) turns.Opened(id, At(-10));
  for (const WorkerId id : workers) turns.Applied(id, At(0));
  EXPECT_LE(turns.Next(workers), At(0)) << "data and kernels took that long";
}

TEST(EvenTurns, AreAsFarApartAsTheCycleOfTheSlowestAllows) {
  EvenTurns turns(4);
  Begin(turns, {0, 1, 2});
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
  Begin(turns, {0});
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

// Batches that all have so many turns, and so many partitions with a sample each.
SharedBatches Even(uint32_t turns, uint32_t partitions) {
  return [=](StepId) { return SharedBatch{turns, std::vector<uint32_t>(partitions, 1)}; };
}

TEST(BatchParts, FollowTheSpeeds) {
  BatchParts parts(3, Even(3, 12));
  const std::vector<WorkerId> workers = {0, 1, 2};
  const std::vector<double> speeds = {3, 2, 1};
  for (int cycle = 0; cycle < 3; ++cycle) {
    const std::vector<BatchPart> expected = {{0, 6, 6}, {6, 10, 4}, {10, 12, 2}};
    for (const WorkerId id : workers) {
      const BatchPart part = parts.Next(id, workers, speeds);
      EXPECT_EQ(part, expected[id]);
      EXPECT_EQ(parts.Next(id, workers, speeds), part) << "asking changes nothing";
      parts.Took(id, part);
    }
  }
}

TEST(BatchParts, HaveAPartitionAtLeast) {
  BatchParts parts(2, Even(2, 4));
  const BatchPart slow = parts.Next(0, {0, 1}, {0.001, 1});
  EXPECT_EQ(slow, (BatchPart{0, 1, 1}));
  const BatchPart fast = parts.Next(1, {0, 1}, {0.001, 1});
  EXPECT_EQ(fast, (BatchPart{0, 3, 3}));
}

TEST(BatchParts, FollowTheSamplesOfPartitions) {
  BatchParts parts(2, [](StepId) { return SharedBatch{2, {1, 1, 6, 0, 4}}; });
  EXPECT_EQ(parts.Next(0, {0, 1}, {1, 1}), (BatchPart{0, 3, 8})) << "8 is nearer to 6 than 2";
  EXPECT_EQ(parts.Next(0, {0, 1}, {1, 3}), (BatchPart{0, 2, 2})) << "3 is wanted";
}

TEST(BatchParts, HaveASampleAtLeast) {
  const std::vector<WorkerId> workers = {0, 1, 2};
  for (const std::vector<uint32_t>& samples : {std::vector<uint32_t>{0, 0, 1, 1, 0, 0, 1, 0},
                                               {3, 1, 1, 0, 0, 0, 0, 0},
                                               {0, 0, 0, 0, 0, 1, 1, 3}}) {
    for (const double speed : {0.001, 1.0, 1000.0}) {
      BatchParts parts(3, [&](StepId) { return SharedBatch{3, samples}; });
      uint64_t all = 0;
      for (const WorkerId id : workers) {
        const BatchPart part = parts.Next(id, workers, {speed, 1, 1});
        EXPECT_GT(part.samples, 0u) << "worker " << id << " with speed " << speed;
        all += part.samples;
        parts.Took(id, part);
      }
      EXPECT_EQ(all, std::accumulate(samples.begin(), samples.end(), uint64_t{0}));
    }
  }
}

TEST(BatchParts, MayBeFewerInTheLastBatchOfAnEpoch) {
  std::vector<StepId> asked;
  BatchParts parts(3, [&](StepId turn) {
    asked.push_back(turn);
    return SharedBatch{turn % 5 == 0 ? 3U : 2U, {1, 1, 1, 1, 1, 1}};
  });
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (const uint64_t share : {2, 2, 2, 3, 3}) {
      const BatchPart part = parts.Next(0, {0, 1, 2}, {1, 1, 1});
      EXPECT_EQ(part.samples, share);
      parts.Took(0, part);
    }
  }
  EXPECT_EQ(asked, (std::vector<StepId>{0, 3, 5, 8, 10}));
}

// Workers come and go and change their speeds. Each cycle's parts are its batch, and no part takes
// its worker much longer than those of the others.
TEST(BatchParts, AreTheWholeBatchInRandomCourses) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    Random random(seed, Stream::kTest);
    const auto turns = static_cast<uint32_t>(1 + random.Below(9));
    const auto partitions = static_cast<uint32_t>(turns * 40 + random.Below(300));
    BatchParts parts(turns, Even(turns, partitions));
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

// Four equal workers, whose updates take a second. From the third cycle on, turns begin about
// every quarter of it, although all have begun at once. A newcomer's first update takes long, and
// slows down no turn of the others.
TEST(Turns, SpreadOverTheCycle) {
  constexpr uint32_t kWorkers = 4;
  BoundedStaleness policy(kWorkers + 1, 1000, {.one_each = true, .in_order = true},
                          Even(kWorkers, 100));
  Membership members(kWorkers + 1, 100);
  const auto join = [&](WorkerId id, double now) {
    members.Join(id, id + 1, At(now));
    members.Free(WorkerFree{id, 0, {}, 0}, At(now));
    policy.Enters(id);
  };
  for (WorkerId id = 0; id < kWorkers; ++id) join(id, 0);
  std::vector<double> began;
  std::multimap<double, WorkerId> ends;
  bool grown = false;
  double now = 0;
  while (now < 40) {
    if (now >= 10 && !std::exchange(grown, true)) join(kWorkers, now);
    while (const auto next = policy.Next(members, At(now))) {
      const auto id = static_cast<WorkerId>(next->lane);
      EXPECT_EQ(next->part->samples, 25u) << "a quarter of the batch";
      policy.Opened(*next, At(now));
      began.push_back(now);
      ends.emplace(now + (id == kWorkers && now < 11 ? 10 : 1), id);
      members[id].free = false;
    }
    const Time due = policy.Due(members);
    double then = due == kNever ? 1e9 : ToSeconds(due - Time{});
    if (!ends.empty() && ends.begin()->first <= then) {
      const auto [end, id] = *ends.begin();
      ends.erase(ends.begin());
      now = end;
      members[id].free = true;
      policy.Committed(id, At(now));
      continue;
    }
    ASSERT_GT(then, now) << "a wait that is over lets a turn begin";
    now = then;
  }
  for (size_t i = 3 * kWorkers; i < began.size(); ++i) {
    const double gap = began[i] - began[i - 1];
    const bool settled = began[i] < 10 || began[i] > 23;
    EXPECT_LT(gap, 0.5) << "turn " << i << " waited for the newcomer";
    if (settled) {
      EXPECT_NEAR(gap, 0.25, 0.08) << "turn " << i;
    }
  }
  EXPECT_GT(began.size(), 150u);
}

}  // namespace
}  // namespace motley
