// SPDX-License-Identifier: Apache-2.0
#include "planner/planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/random.h"
#include "planner/learned_shares.h"
#include "planner/plan_reason.h"
#include "planner/scheme_cost.h"
#include "planner/step_model.h"
#include "scheduler/placement/load_balance.h"
#include "tests/scheduler/placement/random_shares.h"

namespace motley {
namespace {

constexpr double kSamples = 300;  // A worker of speed 1 computes this many in a second.

// A cluster on which a perfectly divided step takes one second of computing.
PlannedCluster Cluster(std::vector<double> speeds, double slow, double lost) {
  PlannedCluster cluster;
  for (const double speed : speeds) {
    PlannedWorker worker;
    worker.curve.seconds_per_sample = 1 / (kSamples * speed);
    worker.curve.overhead_seconds = 1e-4;
    worker.jitter = 0.04;
    worker.slow_probability = slow;
    worker.slow_factor = 5;
    worker.loss_probability = lost;
    worker.latency_seconds = 1e-3;
    cluster.workers.push_back(worker);
    cluster.samples += kSamples * speed;
  }
  cluster.samples -= 1;
  cluster.notice_seconds = 0.1;
  cluster.data_seconds = 10;
  cluster.remaining_steps = 1000;
  return cluster;
}

std::vector<double> ManySpeeds(uint32_t n) {
  Random random(1, Stream::kTest, 3);
  std::vector<double> speeds;
  for (uint32_t i = 0; i < n; ++i) speeds.push_back(1 + 5 * random.NextDouble());
  return speeds;
}

const std::vector<double> kLab = {2, 2, 4, 4, 8, 8, 8, 12};

const PlannedScheme& Find(const Ranking& ranking, const Candidate& candidate) {
  return *std::find_if(ranking.schemes.begin(), ranking.schemes.end(),
                       [&](const PlannedScheme& p) { return p.candidate == candidate; });
}

TEST(Planner, WhereNothingGoesWrongNothingIsComputedTwice) {
  const Result<Ranking> ranking = RankSchemes(Cluster(kLab, 0, 0), {});
  ASSERT_TRUE(ranking.ok());
  const PlannedScheme& best = ranking->schemes.front();
  EXPECT_NEAR(best.cost.work, 1, 0.05);
  EXPECT_LT(best.cost.expected, 1.1);
  // The code of Wang et al. computes everything twice.
  EXPECT_GT(Find(*ranking, {"heterogeneous", 2}).premium, 0.8);
}

TEST(DrawUsual, SpeedsAreOneOnAverage) {
  for (const double jitter : {0.05, 0.4, 1.0, 3.0, 10.0}) {
    PlannedCluster cluster = Cluster(std::vector<double>(20000, 1), 0, 0);
    for (PlannedWorker& worker : cluster.workers) worker.jitter = jitter;
    Random random(1, Stream::kTest);
    double sum = 0;
    for (const ModelWorker& worker : DrawUsual(cluster, random)) sum += 1 / worker.slowdown;
    EXPECT_NEAR(sum / 20000, 1, 0.03) << jitter;
  }
}

// Copies let work move to workers that happen to be fast. If drawn speeds were above 1 on average,
// a step could be promised in 0.6 of the time of its work.
TEST(Planner, NoSchemeIsPromisedToBeFasterThanItsWork) {
  for (const double jitter : {0.4, 3.0, 10.0}) {
    PlannedCluster cluster = Cluster(std::vector<double>(24, 1), 0, 0);
    for (PlannedWorker& worker : cluster.workers) worker.jitter = jitter;
    PlanOptions options;
    options.partitions = PartitionsFor(cluster);
    options.runs.undisturbed = 10;
    for (const Candidate& candidate : CandidatesFor(cluster.workers.size(), 6)) {
      const PlannedScheme planned = TryScheme(candidate, cluster, options);
      if (!planned.exact || !planned.refused.empty()) continue;
      EXPECT_GT(planned.cost.undisturbed, 0.97)
          << ShortNameOf(candidate) << " with a jitter of " << jitter;
    }
  }
}

TEST(Planner, StragglersAreWorthCopiesAndFeedback) {
  const Result<Ranking> ranking = RankSchemes(Cluster(kLab, 0.02, 1e-4), {});
  ASSERT_TRUE(ranking.ok());
  EXPECT_EQ(ranking->schemes.front().candidate.scheme, "adaptive");
  EXPECT_GT(Find(*ranking, {"none", 1}).cost.one_slow, 4);
  for (const PlannedScheme& planned : ranking->schemes) EXPECT_FALSE(planned.why.empty());
}

// A scheme that waits for a straggler that never ends does not end either, and must not be chosen.
TEST(Planner, StragglersWithoutAnEndAreOutlivedByCopiesAlone) {
  PlannedCluster cluster = Cluster(kLab, 0.02, 0);
  for (PlannedWorker& worker : cluster.workers) {
    worker.slow_factor = std::numeric_limits<double>::infinity();
  }
  const Result<Ranking> ranking = RankSchemes(cluster, {});
  ASSERT_TRUE(ranking.ok()) << ranking.status().ToString();
  EXPECT_GT(ranking->schemes.front().candidate.copies, 1u);
  EXPECT_TRUE(std::isfinite(ranking->schemes.front().cost.expected));
  EXPECT_EQ(Find(*ranking, {"none", 1}).refused, "steps would not end");
}

// Answers take far longer than the work, so feedback comes too late. Codes need no feedback.
TEST(Planner, FarOffClustersUseCodes) {
  PlannedCluster cluster = Cluster({4, 4, 4, 4, 4, 4, 4, 4}, 0.1, 0);
  for (PlannedWorker& worker : cluster.workers) {
    worker.latency_seconds = 2;
    worker.slow_factor = 10;
  }
  cluster.data_seconds = 0.1;
  const Result<Ranking> ranking = RankSchemes(cluster, {});
  ASSERT_TRUE(ranking.ok());
  const std::string& best = ranking->schemes.front().candidate.scheme;
  EXPECT_THAT(best, testing::AnyOf("repetition", "group", "heterogeneous", "rs", "cyclic",
                                   "multi-message"));
  EXPECT_LT(ranking->schemes.front().cost.expected, Find(*ranking, {"adaptive", 2}).cost.expected);
}

TEST(Planner, NeverChoosesAnErrorByItself) {
  PlannedScheme exact, cheaper;
  exact.candidate = {"none", 1};
  exact.cost.expected = exact.cost.undisturbed = 2;
  cheaper.candidate = {"approximate", 2};
  cheaper.exact = false;
  cheaper.cost.expected = cheaper.cost.undisturbed = 1;
  const Result<Ranking> ranking = RankTried({cheaper, exact}, 64);
  ASSERT_TRUE(ranking.ok());
  EXPECT_EQ(ranking->schemes.front().candidate, exact.candidate);

  const Result<Ranking> all = RankSchemes(Cluster(kLab, 0.02, 1e-4), {});
  ASSERT_TRUE(all.ok());
  bool inexact = false;
  for (const PlannedScheme& planned : all->schemes) {
    if (!planned.refused.empty()) continue;
    EXPECT_EQ(planned.exact, planned.candidate.scheme != "approximate");
    EXPECT_FALSE(planned.exact && inexact) << ShortNameOf(planned.candidate) << " comes too late";
    inexact = inexact || !planned.exact;
  }
  EXPECT_TRUE(inexact) << "approximate was not tried";
}

// --- Links ---

// One vector occupies the server's link for half of the time that all eight workers need for the
// work.
PlannedCluster ThinLink() {
  PlannedCluster cluster = Cluster({1, 1, 1, 1, 1, 1, 1, 1}, 0, 0);
  for (PlannedWorker& worker : cluster.workers) worker.message_seconds = 0.5;
  return cluster;
}

TEST(Planner, NoMoreWorkersThanTheLinkBears) {
  EXPECT_TRUE(FewerWorkers(Cluster(kLab, 0.01, 0)).empty());
  const Result<Ranking> ranking = RankSchemes(ThinLink(), {});
  ASSERT_TRUE(ranking.ok());
  const PlannedScheme& best = ranking->schemes.front();
  // k workers take k + 8 / k seconds: three take 5.7, and all eight take 9.
  EXPECT_EQ(best.candidate, (Candidate{"none", 1, 3}));
  EXPECT_NEAR(best.cost.undisturbed, 3 + 8.0 / 3, 0.3);
  EXPECT_NEAR(Find(*ranking, {"none", 1}).cost.undisturbed, 9, 0.4);
}

// Vectors that were only observed together may have waited for each other or for their own links.
TEST(Planner, WhatTheLinkIsToFewerIsTriedWhereItIsNotKnown) {
  PlannedCluster cluster = ThinLink();
  for (PlannedWorker& worker : cluster.workers) {
    worker.send_seconds = 7 * worker.message_seconds;
    worker.receive_seconds = 8 * worker.message_seconds;
  }
  EXPECT_TRUE(FewerWorkers(cluster).empty());
  cluster.seen_together = true;
  EXPECT_THAT(FewerWorkers(cluster), testing::Contains(Candidate{"none", 1, 3}));
  EXPECT_EQ(WithFewer(cluster, 0).workers[0].send_seconds, 3.5);
  for (PlannedWorker& worker : cluster.workers) worker.send_seconds = worker.receive_seconds = 10;
  EXPECT_TRUE(FewerWorkers(cluster).empty());  // The server's link cannot explain 10 s.
}

// If links were measured, only parameters were observed together. Links are assumed to be
// symmetric.
TEST(Planner, LinksThatWereMeasuredAreWhatTheyAreToFewer) {
  PlannedCluster cluster = ThinLink();
  cluster.seen_together = true;
  for (PlannedWorker& worker : cluster.workers) {
    worker.link_measured = true;
    worker.send_seconds = 7 * worker.message_seconds;
    worker.receive_seconds = 8 * worker.message_seconds;
  }
  EXPECT_TRUE(FewerWorkers(cluster).empty()) << "their own links are narrow";
  EXPECT_EQ(WithFewer(cluster, 3).workers[0].send_seconds, 3.5);
  for (PlannedWorker& worker : cluster.workers) worker.send_seconds = 0.1;
  EXPECT_THAT(FewerWorkers(cluster), testing::Contains(Candidate{"none", 1, 3}));
  EXPECT_EQ(WithFewer(cluster, 3).workers[0].send_seconds, 0.1);
  EXPECT_EQ(WithFewer(cluster, 3).workers[0].receive_seconds, 0.6);
}

TEST(Planner, AFastWorkerBehindANarrowLinkIsNotAmongTheFastest) {
  PlannedCluster cluster;
  cluster.samples = 100;
  for (const double seconds : {0.001, 0.002, 0.004}) {
    cluster.workers.emplace_back().curve.seconds_per_sample = seconds;
  }
  EXPECT_EQ(FastestWorkers(cluster, 1), (std::vector<bool>{true, false, false}));
  cluster.workers[0].send_seconds = 0.2;
  EXPECT_EQ(FastestWorkers(cluster, 1), (std::vector<bool>{false, true, false}));
  EXPECT_EQ(FastestWorkers(cluster, 0), (std::vector<bool>{true, true, true}));
}

TEST(Planner, FewerWorkersNeedWhatTheOthersHold) {
  PlannedCluster cluster = ThinLink();
  const Candidate all = {"none", 1}, two = {"none", 1, 2};
  EXPECT_NEAR(SwitchSeconds(all, two, cluster), 0.75 * cluster.data_seconds, 1e-9);
  EXPECT_NEAR(SwitchSeconds(two, all, cluster), 0.75 * cluster.data_seconds, 1e-9);
  EXPECT_EQ(SwitchSeconds(two, two, cluster), 0);
}

// Like jobs, the planner learns how long answers take.
TEST(Planner, RowsOfWhoIsFarOffAreShorter) {
  PlannedCluster cluster = Cluster({1, 1, 1, 1}, 0, 0);
  cluster.workers[3].latency_seconds = 0.3;
  SchemeRequest request;
  request.partitions = 256;
  request.samples = cluster.samples;
  request.workers = StepWorkersOf(cluster, request.partitions);
  request.by_speed = true;
  const Result<LearnedScheme> learned = LearnShares("none", request, cluster, 1);
  ASSERT_TRUE(learned.ok());
  std::vector<int> loads(4, 0);
  for (const auto& holders : learned->scheme.setting->holders) ++loads[holders.at(0)];
  EXPECT_NEAR(loads[3], 256 * (1 - 3 * 0.6 / 4) / 4, 12);
  EXPECT_NEAR(loads[0], loads[1], 2);
}

TEST(Planner, IsDeterministic) {
  const PlannedCluster cluster = Cluster(ManySpeeds(20), 0.01, 1e-4);
  const Result<Ranking> first = RankSchemes(cluster, {});
  const Result<Ranking> again = RankSchemes(cluster, {});
  ASSERT_TRUE(first.ok() && again.ok());
  for (size_t i = 0; i < first->schemes.size(); ++i) {
    EXPECT_EQ(first->schemes[i].candidate, again->schemes[i].candidate);
    EXPECT_EQ(first->schemes[i].Total(), again->schemes[i].Total());
    EXPECT_EQ(first->schemes[i].why, again->schemes[i].why);
  }
}

TEST(Planner, OneWorkerIsAClusterToo) {
  const Result<Ranking> ranking = RankSchemes(Cluster({3}, 0, 0), {});
  ASSERT_TRUE(ranking.ok()) << ranking.status().ToString();
  EXPECT_EQ(ranking->schemes.front().candidate, (Candidate{"none", 1}));
  EXPECT_EQ(RankSchemes({}, {}).code(), StatusCode::kInvalidArgument);
}

// Compares predictions from a sample of many workers with predictions from all of them. Only
// schemes that lease are sampled.
TEST(Planner, ASampleSaysNearlyWhatAllWould) {
  const PlannedCluster cluster = Cluster(ManySpeeds(1200), 0.002, 0);
  PlanOptions options;
  options.partitions = 16 * 1200;
  options.most_copies = 2;
  const Result<Ranking> sampled = RankSchemes(cluster, options);
  options.most_whole = 5000;
  options.runs = {1, 1, 1, 1, 1};
  const Result<Ranking> whole = RankSchemes(cluster, options);
  ASSERT_TRUE(sampled.ok() && whole.ok());
  const double a = Find(*sampled, {"adaptive", 2}).cost.undisturbed;
  const double b = Find(*whole, {"adaptive", 2}).cost.undisturbed;
  EXPECT_NE(a, b);
  EXPECT_NEAR(a / b, 1, 0.05) << a << " and " << b;
}

TEST(Planner, EventsGrowNoFasterThanWorkers) {
  uint64_t last = 0;
  for (const uint32_t n : {500U, 1000U, 2000U}) {
    const Result<Ranking> ranking = RankSchemes(Cluster(ManySpeeds(n), 1e-3, 0), {});
    ASSERT_TRUE(ranking.ok());
    if (last > 0) {
      EXPECT_LT(static_cast<double>(ranking->events), 2.2 * static_cast<double>(last));
    }
    last = ranking->events;
  }
}

// --- Limits of devices ---

TEST(Planner, DevicesThatFillSlowlyAreGivenNoSmallPieces) {
  PlannedCluster cluster = Cluster({4, 4, 4, 4}, 0.02, 0);
  const double before = Find(*RankSchemes(cluster, {}), {"adaptive", 2}).cost.undisturbed;
  // A worker has 1,200 samples. Each piece of them now takes as long as at least 400 samples.
  for (PlannedWorker& worker : cluster.workers) worker.curve.knee_samples = 400;
  const Result<Ranking> ranking = RankSchemes(cluster, {});
  ASSERT_TRUE(ranking.ok());
  EXPECT_GT(Find(*ranking, {"adaptive", 2}).cost.undisturbed, 2 * before);
  EXPECT_GT(Find(*ranking, {"none", 1}).cost.undisturbed, 1.8);  // A share has six pieces.
  EXPECT_NE(ranking->schemes.front().candidate.scheme, "adaptive");
}

TEST(Planner, WhatDoesNotFitIntoMemoryIsRefused) {
  PlannedCluster cluster = Cluster({4, 4, 4, 4}, 0.02, 0);
  // Shares have 1,200 samples in six pieces with one copy, and 2,400 with two.
  cluster.workers[2].curve.most_samples = 250;
  const Result<Ranking> ranking = RankSchemes(cluster, {});
  ASSERT_TRUE(ranking.ok());
  EXPECT_TRUE(Find(*ranking, {"none", 1}).refused.empty());
  EXPECT_TRUE(Find(*ranking, {"adaptive", 3}).refused.empty());
  EXPECT_THAT(Find(*ranking, {"heterogeneous", 2}).refused,
              testing::HasSubstr("worker 2 would compute 400 samples at a time and has memory for "
                                 "250: use a smaller batch"));
}

// --- Changes of scheme ---

TEST(SwitchSeconds, FewerCopiesMoveNothing) {
  PlannedCluster cluster;
  cluster.data_seconds = 7;
  EXPECT_EQ(SwitchSeconds({"adaptive", 3}, {"adaptive", 2}, cluster), 0);
  EXPECT_EQ(SwitchSeconds({"adaptive", 2}, {"none", 1}, cluster), 0);
  EXPECT_EQ(SwitchSeconds({"none", 1}, {"adaptive", 3}, cluster), 14);
  EXPECT_EQ(SwitchSeconds({"adaptive", 2}, {"heterogeneous", 2}, cluster), 14);
}

// Costs are means of a few random steps and may come out below those of undisturbed steps.
TEST(ReasonFor, NothingCostsLessThanNothing) {
  Ranking ranking;
  PlannedScheme& scheme = ranking.schemes.emplace_back();
  scheme.cost.undisturbed = 1;
  scheme.cost.one_slow = 0.97;
  scheme.cost.loss = 0.98;
  EXPECT_THAT(ReasonFor(scheme, ranking),
              testing::HasSubstr("a straggler costs nothing; a loss costs nothing"));
  scheme.cost.one_slow = 1.004;
  scheme.cost.loss = 1.25;
  EXPECT_THAT(ReasonFor(scheme, ranking),
              testing::HasSubstr("a straggler costs nothing; a loss costs +25 %"));
}

// SwitchSeconds relies on this.
TEST(SwitchSeconds, PlacementsOfMoreCopiesContainThoseOfFewer) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed, Stream::kTest, 4);
    ShareRequest request;
    request.partitions = 200;
    for (int i = 0; i < 9; ++i) {
      request.workers.push_back({.curve = {.seconds_per_sample = 0.2 + random.NextDouble()}});
    }
    std::vector<std::vector<WorkerId>> fewer(200);
    for (request.copies = 1; request.copies <= 4; ++request.copies) {
      const Result<Placement> placement = PlaceBalanced(request);
      ASSERT_TRUE(placement.ok());
      for (PartitionId p = 0; p < 200; ++p) {
        const auto& holders = placement->holders[p];
        EXPECT_TRUE(std::equal(fewer[p].begin(), fewer[p].end(), holders.begin())) << p;
        fewer[p] = holders;
      }
    }
  }
}

}  // namespace
}  // namespace motley
