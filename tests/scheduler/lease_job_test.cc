// SPDX-License-Identifier: Apache-2.0
// Tests whole jobs with leases in virtual time: faults, wrong speeds, and many seeds. The virtual
// cluster checks that leases never overlap and that every step covers each partition once.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/scheduler/job_figures.h"
#include "tests/scheduler/virtual_cluster.h"

namespace motley {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

SchedulerOptions Options(uint32_t workers, uint64_t steps, uint32_t tolerate = 1) {
  return JobOf(workers, "adaptive", steps, tolerate);
}

void ExpectDone(const VirtualCluster& cluster, const std::string& what = "") {
  EXPECT_THAT(cluster.violations(), IsEmpty()) << what;
  EXPECT_TRUE(cluster.end_status().ok()) << what << cluster.end_status().ToString();
}

const std::vector<double> kLab = {200, 200, 400, 400, 800, 800, 800, 1200};

TEST(LeaseJob, UndisturbedStepsStayNearTheIdeal) {
  for (const uint32_t every : {1u, 3u}) {
    const SchedulerOptions options = Options(8, 200);
    VirtualCluster cluster(options, kLab, 1);
    cluster.ReportEvery(every);
    cluster.Run(1000);
    ExpectDone(cluster);
    // 3 ms are for messages and the update.
    EXPECT_LT(Median(Slice(cluster.step_seconds(), 20, 200)), 1.05 * Ideal(options, kLab) + 0.003)
        << every;
    EXPECT_LE(cluster.Stats().replans, 2u);
    EXPECT_EQ(cluster.Stats().tolerates, 1u);
    for (const WorkerStats& worker : cluster.Stats().workers) {
      EXPECT_EQ(worker.late, 0u);
      EXPECT_GT(worker.steps_in_time, 190u);
    }
  }
}

TEST(LeaseJob, AStepWithASlowWorkerCostsWhatItWorkWas) {
  const SchedulerOptions options = Options(8, 60);
  for (WorkerId slow = 0; slow < 8; ++slow) {
    std::vector<double> speeds = kLab;
    VirtualCluster cluster(options, speeds, 2 + slow);
    cluster.SetSpeedAtStep(40, slow, speeds[slow] / 5);
    cluster.Run(1000);
    ExpectDone(cluster);
    speeds[slow] /= 5;
    // The change acts at once, before anything is learned. The slow worker finishes the partitions
    // that it begins before the server asks for them.
    const double partition = 4 / speeds[slow];
    EXPECT_LT(cluster.step_seconds()[40], 1.25 * Ideal(options, speeds) + partition) << slow;
    EXPECT_LT(Median(Slice(cluster.step_seconds(), 45, 60)), 1.2 * Ideal(options, speeds)) << slow;
  }
}

// Lists would differ if a paused worker received messages in another order.
TEST(LeaseJob, WhoIsPausedWhileItsDataAreOnTheirWayHearsAllInOrder) {
  const SchedulerOptions options = Options(4, 100);
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    Random random(seed, Stream::kTest, 1);
    VirtualCluster cluster(options, {200, 300, 400, 400}, seed);
    cluster.SetDataSeconds(0.05);
    double at = 1;
    for (int i = 0; i < 40; ++i) {
      at += random.Exponential(0.5);
      const auto worker = static_cast<WorkerId>(random.Below(4));
      if (random.Chance(0.2)) cluster.Restart(at, worker);
      cluster.Pause(at + random.Exponential(0.3), worker, random.Exponential(0.3));
    }
    cluster.Run(10000);
    ExpectDone(cluster, fmt::format("seed {}: ", seed));
  }
}

TEST(LeaseJob, WrongSpeedsCostTimeAndNoMoreThanThat) {
  const SchedulerOptions options = Options(8, 80);
  for (const uint64_t seed : {1, 2, 3}) {
    Random random(seed, Stream::kTest);
    VirtualCluster cluster(options, kLab, seed);
    for (WorkerId w = 0; w < 8; ++w) cluster.Misjudge(w, std::pow(5, 2 * random.NextDouble() - 1));
    cluster.Run(1000);
    ExpectDone(cluster);
    // Data moves again only for gains of more than a tenth.
    EXPECT_LT(Median(Slice(cluster.step_seconds(), 10, 80)), 1.2 * Ideal(options, kLab)) << seed;
  }
}

// Measurements that waited for data, and guesses, do not count against a worker for good.
TEST(LeaseJob, WhoJoinsLateWorksAsSoonAsItsDataAreThere) {
  const SchedulerOptions options = Options(4, 800);
  for (const double data : {0.2, 1.0, 3.0, 10.0}) {
    VirtualCluster cluster(options, std::vector<double>(4, 200), 1);
    cluster.SetDataSeconds(data);
    cluster.JoinLate(60, 200);
    cluster.Run(10000);
    ExpectDone(cluster);
    const double ideal = Ideal(options, std::vector<double>(5, 200));
    EXPECT_LT(Median(Slice(cluster.step_seconds(), 600, 800)), 1.1 * ideal) << data;
  }
}

// A newcomer is sent a part of the work that the others have not begun, instead of idling for a
// minute.
TEST(LeaseJob, WhoJoinsALongStepGetsAPartOfIt) {
  SchedulerOptions options = Options(3, 4, 0);
  const std::vector<double> speeds(3, options.batch / 180.0);  // A step takes a minute.
  for (const double data : {0.0, 0.05, 0.5}) {
    VirtualCluster cluster(options, speeds, 1);
    cluster.SetDataSeconds(data);
    cluster.JoinLate(12, speeds[0]);
    cluster.Run(10000);
    ExpectDone(cluster);
    // Some 48 s of work are left of it, for four, in pieces of nearly 4 s: 48 to 52 s, and 1 s for
    // messages and doubt. Three workers alone would take 60 s. Their own data come first.
    EXPECT_LT(cluster.step_seconds()[0], 54 + 16 * data) << data;
    EXPECT_GT(cluster.Stats().workers[3].placed_partitions, 8u) << data;
  }
}

TEST(LeaseJob, AKillAndAPauseCostNoStep) {
  const SchedulerOptions options = Options(4, 200);
  VirtualCluster cluster(options, {1000, 1000, 500, 250}, 2);
  cluster.Pause(5, 1, 2);
  cluster.Kill(10, 2);
  cluster.Run(1000);
  ExpectDone(cluster);
  const SchedulerStats stats = cluster.Stats();
  EXPECT_EQ(stats.steps_committed, 200u);
  EXPECT_TRUE(stats.workers[2].lost);
  EXPECT_FALSE(stats.workers[1].lost);
  EXPECT_GE(stats.workers[1].late, 1u);
  EXPECT_LT(*std::max_element(cluster.step_seconds().begin() + 10, cluster.step_seconds().end()),
            1.0);
}

TEST(LeaseJob, TheJobLivesWhileOneWorkerLives) {
  VirtualCluster cluster(Options(4, 100), {1000, 1000, 1000, 1000}, 6);
  cluster.Kill(1.0, 0);
  cluster.Kill(1.0, 3);
  cluster.Kill(2.0, 1);
  cluster.Run(1000);
  ExpectDone(cluster);
  EXPECT_THAT(Only<notice::FewerCopies>(cluster.notices()), Contains(notice::FewerCopies{1, 2}));
}

TEST(LeaseJob, WhenAllAreLostItEndsAndSaysSo) {
  VirtualCluster cluster(Options(2, 1000), {1000, 1000}, 7);
  cluster.Kill(1.0, 0);
  cluster.Kill(3.0, 1);
  cluster.Run(1000);
  EXPECT_THAT(cluster.violations(), IsEmpty());
  EXPECT_EQ(cluster.end_status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(cluster.end_status().message(), HasSubstr("no worker is left"));
}

TEST(LeaseJob, APauseOfEverybodyOnlyDelays) {
  VirtualCluster cluster(Options(3, 60), {300, 300, 300}, 8);
  for (WorkerId id = 0; id < 3; ++id) cluster.Pause(3, id, 20);
  cluster.Run(1000);
  ExpectDone(cluster);
  EXPECT_THAT(Only<notice::AllSilent>(cluster.notices()), Not(IsEmpty()));
  EXPECT_GT(*std::max_element(cluster.step_seconds().begin(), cluster.step_seconds().end()), 15);
}

TEST(LeaseJob, PartitionsWithoutAHolderAreSentToOthers) {
  const SchedulerOptions options = Options(4, 60, 0);  // Each partition has one copy.
  VirtualCluster cluster(options, {1000, 1000, 500, 250}, 9);
  cluster.Kill(1.5, 0);
  cluster.Run(1000);
  ExpectDone(cluster);
  EXPECT_EQ(cluster.Stats().steps_committed, 60u);
}

TEST(LeaseJob, AWorkerThatJoinsLateGetsAShare) {
  const SchedulerOptions options = Options(3, 200);
  VirtualCluster cluster(options, {500, 500, 500}, 10);
  cluster.JoinLate(4, 1500);
  cluster.Run(1000);
  ExpectDone(cluster);
  EXPECT_LT(Median(Slice(cluster.step_seconds(), 150, 200)), 1.25 * options.batch / 3000.0);
}

TEST(LeaseJob, OneThatSendsNonsenseIsSentAwayTheThirdTime) {
  for (const bool touched : {false, true}) {
    VirtualCluster cluster(Options(4, 100), {1000, 1000, 1000, 1000}, 11);
    for (int i = 0; i < 3; ++i) cluster.SpoilNext(1 + i, 2, touched);
    cluster.Run(1000);
    ExpectDone(cluster);
    EXPECT_EQ(cluster.Stats().workers[2].rejected, 3u);
    EXPECT_TRUE(cluster.Stats().workers[2].lost);
    const std::vector<notice::SentAway> away = Only<notice::SentAway>(cluster.notices());
    ASSERT_THAT(away, SizeIs(1));
    EXPECT_EQ(away[0].worker, 2u);
    EXPECT_EQ(cluster.Stats().steps_restarted, touched ? 3u : 0u);
  }
}

TEST(LeaseJob, AWorkerTooSlowForAShareIsTakenBackWhenItIsFastAgain) {
  const SchedulerOptions options = Options(4, 400);
  VirtualCluster cluster(options, {1000, 1000, 1000, 1000}, 11);
  cluster.SetSpeedAtStep(50, 3, 2);
  cluster.SetSpeedAtStep(150, 3, 1000);
  cluster.Run(2000);
  ExpectDone(cluster);
  const auto& seconds = cluster.step_seconds();
  EXPECT_LT(Median(Slice(seconds, 100, 150)), 1.25 * options.batch / 3002.0);
  EXPECT_LT(Median(Slice(seconds, 300, 400)), 1.15 * options.batch / 4000.0);
}

// Adds kills, restarts, pauses, changes of speed and refused vectors. Worker 0 is never killed.
void AddFaults(Random& random, uint32_t workers, VirtualCluster& cluster) {
  const uint64_t faults = random.Below(14);
  for (uint64_t i = 0; i < faults; ++i) {
    const double at = 0.5 + 15 * random.NextDouble();
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
  Random random(seed, Stream::kTest, 78);
  const auto workers = static_cast<uint32_t>(1 + random.Below(8));
  SchedulerOptions options = Options(workers, 40 + random.Below(40),
                                     static_cast<uint32_t>(random.Below(std::min(workers, 4u))));
  options.shares = random.Chance(0.2) ? Shares::kEqual : Shares::kProportional;
  std::vector<double> speeds(workers);
  for (double& speed : speeds) speed = 100 + 900 * random.NextDouble();
  VirtualCluster cluster(options, speeds, seed);
  cluster.ReportEvery(static_cast<uint32_t>(1 + random.Below(4)));
  cluster.SetVectorSeconds(0.02 * random.NextDouble());
  AddFaults(random, workers, cluster);
  cluster.Run(3600);
  const std::string what = "seed " + std::to_string(seed) + ": ";
  EXPECT_THAT(cluster.violations(), IsEmpty()) << what;
  // Two workers that send nonsense in one step look like divergence. Everything else must end well.
  if (cluster.end_status().code() != StatusCode::kDataError) {
    ExpectDone(cluster, what);
    EXPECT_EQ(cluster.Stats().steps_committed, options.steps) << what;
  }
  return cluster.digest();
}

TEST(LeaseJob, RandomFaultsFromManySeedsNeverBreakARule) {
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    RunSeed(seed);
    if (HasFailure()) break;
  }
}

TEST(LeaseJob, TheSameSeedGivesTheSameCommandsAtTheSameTimes) {
  for (uint64_t seed = 1; seed <= 20; ++seed) EXPECT_EQ(RunSeed(seed), RunSeed(seed));
}

// One worker answers and computes nothing, and one vector of the other is refused. The job still
// relies on the other, because no further worker is there.
TEST(LeaseJob, OneStuckAndOneRefusedOfTwoCostNoStep) {
  for (const WorkerId stuck : {0, 1}) {
    for (const uint32_t tolerate : {0u, 1u}) {
      VirtualCluster cluster(Options(2, 40, tolerate), {400, 400}, 1);
      cluster.SetSpeedAtStep(9, stuck, 1e-9);
      cluster.SetSpeedAtStep(10, stuck, 400);
      cluster.SpoilNext(1.7, 1 - stuck, false);
      cluster.Run(1000);
      ExpectDone(cluster);
      const std::vector<notice::Refused> refused = Only<notice::Refused>(cluster.notices());
      ASSERT_THAT(refused, SizeIs(1));
      EXPECT_EQ(refused[0].step, 9u);
    }
  }
}

}  // namespace
}  // namespace motley
