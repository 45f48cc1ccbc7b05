// SPDX-License-Identifier: Apache-2.0
// Tests whole jobs in virtual time: speeds that change, and random faults from many seeds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <numeric>

#include "tests/scheduler/job_figures.h"
#include "tests/scheduler/virtual_cluster.h"

namespace motley {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kCodes[] = {"none", "repetition",    "cyclic",       "heterogeneous",
                                  "rs",   "multi-message", "partial-coded"};

void ExpectSound(const VirtualCluster& cluster, const std::string& what) {
  EXPECT_THAT(cluster.violations(), IsEmpty()) << what;
  EXPECT_LT(cluster.worst_error(), 1e-5) << what;
}

TEST(WholeJob, WithoutFaultsTheSpeedsAreUsedUp) {
  const std::vector<double> speeds = {1000, 1000, 500, 250};
  const SchedulerOptions options = JobOf(4, "none", 100);
  VirtualCluster cluster(options, speeds, 1);
  cluster.Run(1000);
  ExpectSound(cluster, "");
  EXPECT_TRUE(cluster.end_status().ok());
  const double ideal = Ideal(options, speeds);
  EXPECT_LT(Median(cluster.step_seconds()), ideal / 0.85);
  EXPECT_EQ(cluster.Stats().rows_reassigned, 0u);
  for (const WorkerStats& worker : cluster.Stats().workers) EXPECT_EQ(worker.late, 0u);
}

TEST(WholeJob, ACodeHidesAKillAndAPause) {
  for (const char* code : kCodes) {
    const SchedulerOptions options = JobOf(4, code, 200);
    VirtualCluster cluster(options, {1000, 1000, 500, 250}, 2);
    cluster.Pause(5, 1, 2);
    cluster.Kill(15, 2);
    cluster.Run(1000);
    ExpectSound(cluster, code);
    EXPECT_TRUE(cluster.end_status().ok()) << code;
    const SchedulerStats stats = cluster.Stats();
    EXPECT_EQ(stats.steps_committed, 200u);
    EXPECT_TRUE(stats.workers[2].lost) << code;
    EXPECT_FALSE(stats.workers[1].lost) << code;
    EXPECT_GE(stats.workers[1].late, 1u) << code;
  }
}

// On processors that workers share, the time of an answer besides computing varies between steps by
// as much as a step takes.
TEST(WholeJob, NoiseInAnswersLeavesEqualWorkersTheirShares) {
  for (const uint32_t workers : {2U, 4U}) {
    for (uint64_t seed = 1; seed <= 10; ++seed) {
      VirtualCluster cluster(JobOf(workers, "none", 400, 0), std::vector<double>(workers, 1000),
                             seed);
      cluster.SetRowNoise(0.06);  // A share takes 0.064 s.
      cluster.Run(1000);
      ExpectSound(cluster, "");
      for (const WorkerStats& worker : cluster.Stats().workers) {
        EXPECT_GT(worker.share, 0.5 / workers) << workers << " workers, seed " << seed;
      }
    }
  }
}

// One worker becomes five times slower half way.
TEST(WholeJob, SharesFollowAFiveFoldSlowdownWithinThirtySteps) {
  for (const char* code : {"none", "repetition", "heterogeneous", "multi-message"}) {
    for (uint64_t seed = 1; seed <= 10; ++seed) {
      std::vector<double> speeds = {1000, 1000, 500, 250};
      const SchedulerOptions options = JobOf(4, code, 200);
      VirtualCluster cluster(options, speeds, seed);
      cluster.SetSpeedAtStep(100, 0, 200);
      cluster.Run(1000);
      ExpectSound(cluster, code);
      speeds[0] = 200;
      const double copies = std::string(code) == "none" ? 1 : 2;
      const double optimum =
          copies * options.batch / std::accumulate(speeds.begin(), speeds.end(), 0.0);
      const auto after = Slice(cluster.step_seconds(), 130, 200);
      EXPECT_LT(Median(after), 1.3 * optimum) << code << ", seed " << seed;
    }
  }
}

TEST(WholeJob, SharesFollowAFiveFoldSpeedUpWithinThirtySteps) {
  std::vector<double> speeds = {200, 1000, 500, 250};
  const SchedulerOptions options = JobOf(4, "none", 200);
  VirtualCluster cluster(options, speeds, 3);
  cluster.SetSpeedAtStep(100, 0, 1000);
  cluster.Run(1000);
  ExpectSound(cluster, "");
  const double optimum = options.batch / 2750.0;
  EXPECT_LT(Median(Slice(cluster.step_seconds(), 130, 200)), 1.3 * optimum);
  EXPECT_GE(cluster.Stats().replans, 1u);
}

TEST(WholeJob, AWorkerTooSlowForAShareIsTakenBackWhenItIsFastAgain) {
  for (const char* code : {"none", "heterogeneous"}) {
    VirtualCluster cluster(JobOf(4, code, 400), {1000, 1000, 1000, 1000}, 11);
    cluster.SetSpeedAtStep(50, 3, 2);
    cluster.SetSpeedAtStep(150, 3, 1000);
    cluster.Run(2000);
    ExpectSound(cluster, code);
    const double copies = std::string(code) == "none" ? 1 : 2;
    const auto& seconds = cluster.step_seconds();
    EXPECT_LT(Median(Slice(seconds, 100, 150)), 1.3 * copies * 256 / 3002) << code;
    EXPECT_LT(Median(Slice(seconds, 300, 400)), 1.15 * copies * 256 / 4000) << code;
  }
}

TEST(WholeJob, SteadySpeedsCauseNoNewPlans) {
  for (const char* code : kCodes) {
    VirtualCluster cluster(JobOf(8, code, 300), {200, 200, 400, 400, 800, 800, 800, 1200}, 4);
    cluster.Run(1000);
    ExpectSound(cluster, code);
    EXPECT_LE(cluster.Stats().replans, 2u) << code << ": only guesses are corrected";
  }
}

TEST(WholeJob, EqualSharesStayEqualWhateverIsLearned) {
  SchedulerOptions options = JobOf(4, "none", 100);
  options.shares = Shares::kEqual;
  VirtualCluster cluster(options, {1000, 1000, 500, 250}, 5);
  cluster.SetSpeedAtStep(50, 0, 200);
  cluster.Run(1000);
  ExpectSound(cluster, "");
  EXPECT_EQ(cluster.Stats().replans, 0u);
  for (const WorkerStats& worker : cluster.Stats().workers) EXPECT_EQ(worker.share, 0.25);
}

TEST(WholeJob, TheJobLivesWhileOneWorkerLives) {
  for (const char* code : kCodes) {
    VirtualCluster cluster(JobOf(4, code, 100), {1000, 1000, 1000, 1000}, 6);
    cluster.Kill(1.0, 0);
    cluster.Kill(1.0, 3);
    cluster.Kill(2.0, 1);
    cluster.Run(1000);
    ExpectSound(cluster, code);
    EXPECT_TRUE(cluster.end_status().ok()) << code;
  }
}

TEST(WholeJob, WhenAllAreLostItEndsAndSaysSo) {
  VirtualCluster cluster(JobOf(2, "rs", 1000), {1000, 1000}, 7);
  cluster.Kill(1.0, 0);
  cluster.Kill(3.0, 1);
  cluster.Run(1000);
  ExpectSound(cluster, "");
  EXPECT_EQ(cluster.end_status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(cluster.end_status().message(), HasSubstr("no worker is left"));
}

TEST(WholeJob, APauseOfEverybodyOnlyDelays) {
  for (const char* code : kCodes) {
    VirtualCluster cluster(JobOf(3, code, 60), {300, 300, 300}, 8);
    for (WorkerId id = 0; id < 3; ++id) cluster.Pause(3, id, 20);
    cluster.Run(1000);
    ExpectSound(cluster, code);
    EXPECT_TRUE(cluster.end_status().ok()) << code;
    EXPECT_GT(*std::max_element(cluster.step_seconds().begin(), cluster.step_seconds().end()), 15);
  }
}

struct Drawn {
  SchedulerOptions options;
  std::vector<double> speeds;
};

Drawn DrawJob(uint64_t seed, Random& random) {
  Drawn drawn;
  const auto workers = static_cast<uint32_t>(2 + random.Below(7));
  drawn.options = JobOf(workers, kCodes[random.Below(std::size(kCodes))], 40 + random.Below(40));
  drawn.options.tolerate = static_cast<uint32_t>(random.Below(std::min(workers, 3u)));
  drawn.options.shares = random.Chance(0.2) ? Shares::kEqual : Shares::kProportional;
  drawn.options.parts = std::min(2U, workers - drawn.options.tolerate);
  drawn.options.seed = seed;
  for (uint32_t i = 0; i < workers; ++i) drawn.speeds.push_back(100 + 900 * random.NextDouble());
  return drawn;
}

// Adds kills, restarts, pauses, changes of speed and refused answers. Worker 0 is never killed.
void AddFaults(Random& random, uint32_t workers, VirtualCluster& cluster) {
  const uint64_t faults = random.Below(14);
  for (uint64_t i = 0; i < faults; ++i) {
    const double at = 0.5 + 25 * random.NextDouble();
    const auto worker = static_cast<WorkerId>(random.Below(workers));
    const double size = random.NextDouble();
    const bool coin = random.Chance(0.5);
    switch (random.Below(6)) {
      case 0:
        if (worker != 0) cluster.Kill(at, worker);
        if (worker != 0 && coin) cluster.Restart(at + 5 * size, worker);
        break;
      case 1: cluster.Pause(at, worker, 4 * size); break;
      case 2: cluster.SetSpeed(at, worker, 20 + 1000 * size); break;
      case 3: cluster.SpoilNext(at, worker, coin); break;
      // A new incarnation; nobody saw the old one's end.
      case 4: cluster.Restart(at, worker); break;
      case 5: cluster.JoinLate(at, 100 + 900 * size); break;
    }
  }
}

uint64_t RunSeed(uint64_t seed) {
  Random random(seed, Stream::kTest, 77);
  const Drawn drawn = DrawJob(seed, random);
  VirtualCluster cluster(drawn.options, drawn.speeds, seed);
  AddFaults(random, drawn.options.workers, cluster);
  cluster.Run(3600);
  const std::string what = "seed " + std::to_string(seed) + ", " + drawn.options.code;
  ExpectSound(cluster, what);
  // Two workers that send nonsense in one step look like divergence. Everything else must end well.
  if (cluster.end_status().code() != StatusCode::kDataError) {
    EXPECT_TRUE(cluster.end_status().ok()) << what << ": " << cluster.end_status().ToString();
    EXPECT_EQ(cluster.Stats().steps_committed, drawn.options.steps) << what;
  }
  return cluster.digest();
}

TEST(WholeJob, RandomFaultsFromManySeedsNeverBreakARule) {
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    RunSeed(seed);
    if (HasFailure()) break;
  }
}

TEST(WholeJob, TheSameSeedGivesTheSameCommandsAtTheSameTimes) {
  for (uint64_t seed = 1; seed <= 40; ++seed) EXPECT_EQ(RunSeed(seed), RunSeed(seed));
}

}  // namespace
}  // namespace motley
