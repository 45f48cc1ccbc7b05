// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "reproduce/failures/courses.h"
#include "reproduce/failures/stacked_shards.h"

namespace motley {
namespace {

// The least load of the busiest group over all assignments of the shards from `shard` on.
uint32_t LeastDepth(const std::vector<bool>& left, uint32_t copies, uint32_t shard,
                    std::vector<uint32_t>& load) {
  const auto groups = static_cast<uint32_t>(left.size());
  if (shard == groups) return *std::max_element(load.begin(), load.end());
  uint32_t best = UINT32_MAX;
  for (uint32_t k = 0; k < copies; ++k) {
    const uint32_t group = (shard + k) % groups;
    if (!left[group]) continue;
    ++load[group];
    best = std::min(best, LeastDepth(left, copies, shard + 1, load));
    --load[group];
  }
  return best;
}

TEST(StackedShards, HaveTheLeastDepthOfAllAssignments) {
  Random random(7, Stream::kSimulation, 1);
  int lost = 0, deep = 0;
  for (int run = 0; run < 60; ++run) {
    const auto groups = static_cast<uint32_t>(3 + random.Below(5));
    const auto copies = static_cast<uint32_t>(1 + random.Below(3));
    StackedShards shards(groups, copies);
    std::vector<bool> left(groups, true);
    for (const uint32_t group : OrderOfLosses(groups, random)) {
      left[group] = false;
      std::vector<uint32_t> load(groups);
      const uint32_t wanted = LeastDepth(left, copies, 0, load);
      const bool goes_on = shards.Lose(group);
      ASSERT_EQ(goes_on, wanted != UINT32_MAX) << "a shard without a copy has no assignment";
      if (!goes_on) {
        ++lost;
        break;
      }
      ASSERT_EQ(shards.depth(), wanted);
      deep += wanted > 2 ? 1 : 0;
    }
  }
  EXPECT_EQ(lost, 60) << "each run ends with a lost shard";
  EXPECT_GT(deep, 0);
}

TEST(Courses, ReplicationComputesAllCopiesAndEndsWithASetOfThem) {
  Random random(3, Stream::kSimulation, 1);
  for (int run = 0; run < 50; ++run) {
    const Course course = Replicated(12, 3, random);
    EXPECT_GE(course.steps.size(), 3u);
    EXPECT_LE(course.steps.size(), 9u) << "of four sets, each lacks at most two before the last";
    for (const double step : course.steps) EXPECT_EQ(step, 3);
  }
  EXPECT_EQ(Replicated(12, 1, random).steps.size(), 1u);
}

TEST(Courses, LeasesShareTheWorkOfTheLost) {
  const Course course = Leased(10, 3, 1.1, 0.2);
  ASSERT_EQ(course.steps.size(), 3u);
  EXPECT_DOUBLE_EQ(course.steps[0], 1.1);
  EXPECT_DOUBLE_EQ(course.steps[2], 1.1 * 10 / 8);
}

// Without copies a course is one exponential time T of mean F. A checkpoint every I seconds costs
// C, and half of I is lost: (F + F C / I + R) / (F - I / 2) steps.
TEST(TimeOfTraining, IsYoungsWithoutCopies) {
  const auto parallel = MakeSerialParallelFor();
  ReproduceContext context;
  context.parallel = parallel.get();
  const FailingSite site{.groups = 5,
                         .failure_seconds = 10'000,
                         .step_seconds = 2,
                         .restart_seconds = 500,
                         .checkpoint_seconds = 20};
  const auto draw = [](Random& random) {
    Course course = Replicated(5, 1, random);
    return course;
  };
  const TrainingTime found = TimeOfTraining(context, 1, 20'000, site, draw);
  const double interval = std::sqrt(2 * 20.0 * 10'000);
  EXPECT_EQ(found.losses, 1);
  EXPECT_NEAR(found.depth, 1, 1e-9);
  EXPECT_NEAR(found.time, (10'000 + 10'000 / interval * 20 + 500) / (10'000 - interval / 2),
              0.02 * found.time);
}

}  // namespace
}  // namespace motley
