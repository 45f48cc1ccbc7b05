// SPDX-License-Identifier: Apache-2.0
#include "planner/learned_shares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace motley {
namespace {

using testing::Each;
using testing::ElementsAreArray;

constexpr uint32_t kPartitions = 256;

// Vectors share the server's link, so waits change from step to step. The last worker is far away.
// The `dead` first workers have no jitter, so they do not change the noise of the others.
PlannedCluster Cluster(const std::vector<double>& speeds, size_t dead) {
  PlannedCluster cluster;
  cluster.samples = 1600;
  cluster.doubt = 0;
  for (size_t w = 0; w < speeds.size(); ++w) {
    PlannedWorker worker;
    worker.curve.seconds_per_sample = 1 / (200 * speeds[w]);
    worker.jitter = w < dead ? 0 : 0.2;
    worker.latency_seconds = 1e-3;
    worker.message_seconds = 0.05;
    cluster.workers.push_back(worker);
  }
  cluster.workers.back().latency_seconds = 0.3;
  return cluster;
}

// The learned number of partitions of each worker. The `dead` first workers are dead.
std::vector<uint32_t> Learned(const std::vector<double>& speeds, size_t dead, const char* scheme,
                              uint32_t copies, uint64_t seed) {
  const PlannedCluster cluster = Cluster(speeds, dead);
  SchemeRequest request;
  request.partitions = kPartitions;
  request.copies = copies;
  request.samples = cluster.samples;
  request.workers = StepWorkersOf(cluster, request.partitions);
  for (size_t w = 0; w < dead; ++w) request.workers[w].live = false;
  request.by_speed = true;
  const Result<LearnedScheme> learned = LearnShares(scheme, request, cluster, seed);
  EXPECT_TRUE(learned.ok()) << learned.status().ToString();
  std::vector<uint32_t> loads(speeds.size(), 0);
  if (!learned.ok()) return loads;
  for (const auto& holders : learned->scheme.setting->holders) {
    for (const WorkerId holder : holders) ++loads[holder];
  }
  return loads;
}

TEST(LearnShares, WhoIsFarOffComputesLess) {
  const std::vector<uint32_t> loads = Learned({4, 2, 1, 1}, 0, "none", 1, 1);
  EXPECT_LT(loads[3], loads[2] - 10);
  EXPECT_GT(loads[0], loads[1] + 40);
}

// Absent workers with lower numbers must not change the shares of the others.
TEST(LearnShares, ADeadFirstWorkerIsAsGoodAsNone) {
  for (const auto& [scheme, copies] :
       std::vector<std::pair<const char*, uint32_t>>{{"none", 1}, {"heterogeneous", 2}}) {
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      const auto without = Learned({4, 2, 1, 1}, 0, scheme, copies, seed);
      for (const double speed : {0.05, 8.0}) {
        std::vector<uint32_t> loads = Learned({speed, 4, 2, 1, 1}, 1, scheme, copies, seed);
        EXPECT_EQ(loads.front(), 0U) << scheme;
        loads.erase(loads.begin());
        EXPECT_THAT(loads, ElementsAreArray(without)) << scheme << ", seed " << seed;
      }
    }
  }
}

TEST(LearnShares, OfTwoDeadOnesNothingIsAsked) {
  std::vector<uint32_t> loads = Learned({8, 1, 4, 2, 1, 1}, 2, "none", 1, 1);
  EXPECT_THAT(std::vector<uint32_t>(loads.begin(), loads.begin() + 2), Each(0U));
  loads.erase(loads.begin(), loads.begin() + 2);
  EXPECT_THAT(loads, ElementsAreArray(Learned({4, 2, 1, 1}, 0, "none", 1, 1)));
}

}  // namespace
}  // namespace motley
