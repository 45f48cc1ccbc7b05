// SPDX-License-Identifier: Apache-2.0
// Steps of the step model, with the vector placed where a job may place it, against closed forms.
#include "planner/planned_reduction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "planner/planner.h"
#include "planner/scheme_cost.h"
#include "profiles/ideal_step.h"

namespace motley {
namespace {

constexpr double kBytes = 100e6;
constexpr double kRate = 100e6;     // Bytes per second of a link of width 1, which takes 1 s.
constexpr double kComputing = 0.1;  // Seconds.

ClusterProfile ProfileOf(const std::vector<double>& links, double server) {
  ClusterProfile profile;
  profile.gradient_bytes = static_cast<uint64_t>(kBytes);
  profile.server = ServerRates{.in = server * kRate, .out = server * kRate};
  for (const double width : links) {
    WorkerProfile worker;
    worker.device.samples_per_second = 100;
    worker.link.bytes_per_second = width * kRate;
    profile.workers.push_back(worker);
  }
  return profile;
}

PlannedCluster ClusterFor(const ClusterProfile& profile, const ReduceMode& mode) {
  PlannedJob job;
  job.samples = kComputing * 100 * static_cast<double>(profile.workers.size());
  job.reduce = mode;
  PlannedCluster cluster = ClusterOf(profile, job);
  cluster.doubt = 0;
  cluster.reduction->exchange.followers = 0;
  return cluster;
}

double StepOf(const PlannedCluster& cluster, const char* scheme = "none", uint32_t copies = 1) {
  PlanOptions options;
  options.partitions = PartitionsFor(cluster);
  const PlannedScheme planned = TryScheme({scheme, copies}, cluster, options);
  EXPECT_EQ(planned.refused, "");
  return planned.cost.undisturbed;
}

void ExpectStep(const PlannedCluster& cluster, double exchange) {
  EXPECT_NEAR(StepOf(cluster), kComputing + exchange, 0.03 * (kComputing + exchange));
}

TEST(PlannedReduction, AStarTakesAsLongAsWithoutAChoice) {
  for (const double server : {0.5, 1.0, 30.0}) {
    ClusterProfile profile = ProfileOf({10, 10, 1, 1}, server);
    profile.server->out *= 2;
    profile.workers[2].link.down = LinkDirection{.bytes_per_second = kRate / 2};
    const PlannedCluster placed = ClusterFor(profile, {Reduce::kStar});
    PlannedCluster usual = placed;
    usual.reduction.reset();
    EXPECT_NEAR(StepOf(placed) / StepOf(usual), 1, 1e-9) << server;
  }
}

// Without streams: twice a vector of each worker over the server's link.
TEST(PlannedReduction, AStarTakesWhatItsLinksTake) {
  ExpectStep(ClusterFor(ProfileOf({1, 1, 1, 1}, 1), {Reduce::kStar}), 8);
  ExpectStep(ClusterFor(ProfileOf({1, 1, 1, 1, 1, 1}, 10), {Reduce::kStar}), 2);
}

TEST(PlannedReduction, WorkersTakeWhatTheClosedFormSays) {
  ExpectStep(ClusterFor(ProfileOf({1, 1, 1, 1}, 1), {Reduce::kDirect}), 1.5);
  ExpectStep(ClusterFor(ProfileOf({10, 10, 1, 1}, 1), {Reduce::kDirect}), 1.5);
  PlannedCluster streams = ClusterFor(ProfileOf({10, 10, 1, 1}, 1), {Reduce::kDirect});
  streams.reduction->exchange.streams = true;
  ExpectStep(streams, 1.0);
  streams = ClusterFor(ProfileOf({10, 10, 10, 2.5}, 1), {Reduce::kDirect});
  streams.reduction->exchange.streams = true;
  ExpectStep(streams, 0.4);
}

// Workers that follow read the new values if there is nothing else to keep.
TEST(PlannedReduction, OnlySumsForFollowersTakeTime) {
  const ClusterProfile profile = ProfileOf({1, 1, 1, 1}, 1);
  const auto copies = [&](const ReduceMode& mode, bool state, WireFormat wire) {
    PlannedJob job;
    job.state = state;
    job.wire = wire;
    return ReductionOf(profile, kBytes, mode, job).exchange.followers;
  };
  EXPECT_EQ(copies({Reduce::kDirect}, /*state=*/false, WireFormat::kFloat32), 0);
  EXPECT_EQ(copies({Reduce::kDirect}, /*state=*/true, WireFormat::kFloat32), 1);
  EXPECT_EQ(copies({Reduce::kDirect}, /*state=*/false, WireFormat::kBf16), 2);
  EXPECT_EQ(copies({Reduce::kSharded, 2}, /*state=*/false, WireFormat::kFloat32), 1);
}

TEST(PlannedReduction, OwnersSendSumsToAsManyFollowersAsTheJobHas) {
  const ClusterProfile profile = ProfileOf({1, 1, 1, 1}, 1);
  for (const uint32_t followers : {0U, 1U, 2U, 3U}) {
    PlannedJob job;
    job.followers = followers;
    const auto copies = [&](const ReduceMode& mode) {
      return ReductionOf(profile, kBytes, mode, job).exchange.followers;
    };
    EXPECT_EQ(copies({Reduce::kDirect}), followers);
    EXPECT_EQ(copies({Reduce::kSharded, 1}), followers);  // Workers follow.
    const ClusterProfile pair = ProfileOf({1, 1}, 1);
    EXPECT_EQ(ReductionOf(pair, kBytes, {Reduce::kDirect}, job).exchange.followers,
              std::min(followers, 1U));
    // Each of four owners sends a quarter of the vector to each follower.
    job.samples = kComputing * 400;
    job.reduce = ReduceMode{Reduce::kDirect};
    PlannedCluster cluster = ClusterOf(profile, job);
    cluster.doubt = 0;
    ExpectStep(cluster, 0.75 + 0.25 * followers + 0.75);
  }
}

TEST(PlannedReduction, ASpareServerTakesPartOfTheVector) {
  PlannedCluster cluster = ClusterFor(ProfileOf({1, 1, 1, 1}, 1), {Reduce::kDirect});
  cluster.reduction->exchange.servers = {cluster.reduction->coordinator};
  cluster.reduction->exchange.streams = true;
  ExpectStep(cluster, 24.0 / 18);
  // Otherwise workers still send three quarters of their vectors, because that is also what an
  // owner takes in.
  cluster.reduction->exchange.streams = false;
  ExpectStep(cluster, 1.5);
  cluster = ClusterFor(ProfileOf({1, 1, 1, 1, 1, 1}, 10), {Reduce::kDirect});
  cluster.reduction->exchange.servers = {cluster.reduction->coordinator};
  cluster.reduction->exchange.streams = true;
  ExpectStep(cluster, 1);
}

TEST(PlannedReduction, ServersDivideTheVector) {
  ExpectStep(ClusterFor(ProfileOf({1, 1, 1, 1}, 1), {Reduce::kSharded, 2}), 4);
  ExpectStep(ClusterFor(ProfileOf({1, 1, 1, 1}, 1), {Reduce::kSharded, 4}), 2);
}

// The time of a step agrees with the time of its exchange for any links. Where a link differs by
// direction, a worker may begin to send before another one has its parameters.
TEST(PlannedReduction, StepsTakeAsLongAsTheirExchange) {
  Random random(1, Stream::kTest);
  for (int i = 0; i < 60; ++i) {
    const bool symmetric = i % 2 == 0;
    std::vector<double> links(3 + random.Below(6));
    for (double& width : links) width = std::exp(3 * random.NextDouble() - 1);
    ClusterProfile profile = ProfileOf(links, std::exp(3 * random.NextDouble() - 1));
    for (WorkerProfile& worker : profile.workers) {
      const double times = symmetric ? 1 : 0.5 + random.NextDouble();
      worker.link.down = LinkDirection{.bytes_per_second = times * worker.link.bytes_per_second};
    }
    const ReduceMode modes[] = {{Reduce::kStar}, {Reduce::kDirect}, {Reduce::kSharded, 3}};
    PlannedCluster cluster = ClusterFor(profile, modes[random.Below(3)]);
    const bool streams = cluster.reduction->exchange.streams = random.Chance(0.5);
    const auto choice = ReductionAmong(cluster, std::vector<bool>(links.size(), true));
    ASSERT_TRUE(choice.ok());
    const ExchangeSeconds& exchange = choice->cost.exchange;
    if (symmetric || streams) {
      ExpectStep(cluster, exchange.total);
    } else {
      EXPECT_LT(StepOf(cluster), 1.001 * (kComputing + exchange.total));
      EXPECT_GT(StepOf(cluster), 0.999 * (kComputing + std::max(exchange.push, exchange.pull)));
    }
  }
}

TEST(PlannedReduction, NoPlacementTakesLessThanTheIdeal) {
  Random random(2, Stream::kTest);
  for (int i = 0; i < 40; ++i) {
    std::vector<double> links(1 + random.Below(8));
    for (double& width : links) width = std::exp(6 * random.NextDouble() - 1);
    ClusterProfile profile = ProfileOf(links, std::exp(6 * random.NextDouble() - 1));
    for (WorkerProfile& worker : profile.workers) {
      worker.device.samples_per_second *= 0.2 + random.NextDouble();
      worker.link.latency_seconds = random.NextDouble() / 20;
      worker.link.down = worker.link.Up();
      worker.link.down->bytes_per_second *= 0.5 + 3 * random.NextDouble();
    }
    std::vector<ReduceMode> modes = {{Reduce::kStar}, {Reduce::kDirect}};
    for (const uint32_t servers : {2U, 3U, 4U}) modes.push_back({Reduce::kSharded, servers});
    for (const ReduceMode& mode : modes) {
      PlannedCluster cluster = ClusterFor(profile, mode);
      cluster.reduction->exchange.streams = random.Chance(0.5);
      const double ideal = IdealStepSeconds(profile.workers, RatesOfServers(profile, mode),
                                            cluster.gradient_bytes, cluster.samples);
      const Result<Ranking> ranking = RankSchemes(cluster, {});
      ASSERT_TRUE(ranking.ok()) << ranking.status().ToString();
      for (const PlannedScheme& planned : ranking->schemes) {
        if (planned.exact && planned.refused.empty()) {
          EXPECT_GE(planned.cost.undisturbed, ideal * (1 - 1e-6))
              << i << " " << NameOf(mode) << " " << ShortNameOf(planned.candidate);
        }
      }
    }
  }
}

// All workers send to four servers while they receive from them. One server's link alone would not
// bear so many workers.
TEST(PlannedReduction, TheIdealCountsTheLinksOfAllServers) {
  constexpr double kWorkers = 128;
  const ReduceMode mode{Reduce::kSharded, 4};
  const ClusterProfile profile = ProfileOf(std::vector<double>(kWorkers, 1), kWorkers / 4);
  PlannedCluster cluster = ClusterFor(profile, mode);
  cluster.reduction->exchange.streams = true;
  const double step = StepOf(cluster);
  EXPECT_NEAR(step, kComputing + 1, 0.01);
  const auto ideal = [&](const ServerRates& rates) {
    return IdealStepSeconds(profile.workers, rates, cluster.gradient_bytes, cluster.samples);
  };
  EXPECT_LE(ideal(RatesOfServers(profile, mode)), step);
  EXPECT_GT(ideal(ServerRatesOf(profile)), step);
}

TEST(PlannedReduction, TheCommitTakesTwoWays) {
  ClusterProfile profile = ProfileOf({1, 1, 1, 1}, 1);
  const double before = StepOf(ClusterFor(profile, {Reduce::kDirect}));
  for (WorkerProfile& worker : profile.workers) worker.link.latency_seconds = 0.5;
  // The parameters and the vectors take one way each, and the commit two.
  EXPECT_NEAR(StepOf(ClusterFor(profile, {Reduce::kDirect})), before + 4 * 0.5, 0.05);
}

TEST(PlannedReduction, FollowersGetTheSums) {
  for (const uint32_t workers : {1U, 4U}) {
    PlannedJob job;
    job.samples = kComputing * 100 * workers;
    job.reduce = ReduceMode{Reduce::kDirect};
    PlannedCluster cluster = ClusterOf(ProfileOf(std::vector<double>(workers, 1), 1), job);
    cluster.doubt = 0;
    // Each of four owners sends a quarter of the vector on, and gets one.
    ExpectStep(cluster, workers == 1 ? 0 : 0.75 + 0.25 + 0.75);
  }
}

TEST(PlannedReduction, AnswersInPartsPassOwnersLinks) {
  const PlannedCluster cluster = ClusterFor(ProfileOf({1, 1, 1, 1}, 1), {Reduce::kDirect});
  // Each worker computes all of two copies; answers of half a vector take 3/8 s, parameters 3/4 s.
  EXPECT_NEAR(StepOf(cluster, "short", 2), 2 * kComputing + 0.375 + 0.75, 0.05);
}

TEST(PlannedReduction, FewerWorkersExchangeTheVectorAmongThemselves) {
  // One fast worker with a wide link among slow ones behind thin links.
  ClusterProfile profile = ProfileOf({10, 10, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1}, 1);
  profile.workers[0].device.samples_per_second = profile.workers[1].device.samples_per_second = 300;
  const PlannedCluster cluster = ClusterFor(profile, {Reduce::kDirect});
  const std::vector<Candidate> fewer = FewerWorkers(cluster);
  ASSERT_FALSE(fewer.empty());
  EXPECT_EQ(fewer.front(), (Candidate{"none", 1, 2}));
  PlanOptions options;
  options.partitions = PartitionsFor(cluster);
  const PlannedScheme planned = TryScheme(fewer.front(), cluster, options);
  EXPECT_EQ(planned.cost.workers, 2);
  EXPECT_NEAR(planned.cost.undisturbed, cluster.samples / 600 + 0.1, 0.02);
}

// A running job knows who owns the vector.
PlannedCluster OwnedAs(const PlannedCluster& placed, const ShardShares& shares) {
  PlannedCluster owned = placed;
  owned.owned = OwnedVector{placed.reduction->exchange, shares};
  owned.reduction.reset();
  return owned;
}

TEST(PlannedReduction, WhoOwnsTheVectorMayBeKnown) {
  const PlannedCluster placed = ClusterFor(ProfileOf({1, 1, 1, 1}, 1), {Reduce::kDirect});
  EXPECT_NEAR(StepOf(OwnedAs(placed, {0.25, 0.25, 0.25, 0.25})), StepOf(placed), 1e-9);
  // One owner: it gets the vectors of three others, and sends them the parameters.
  ExpectStep(OwnedAs(placed, {0, 0, 0, 1}), 3 + 3);
  // A server owns everything.
  PlannedCluster elsewhere = OwnedAs(placed, {0, 0, 0, 0});
  elsewhere.owned->exchange.servers = {{2 * kRate, 2 * kRate}};
  elsewhere.owned->shares.push_back(1);
  ExpectStep(elsewhere, 2 + 2);
}

TEST(PlannedReduction, AnOwnerThatTakesNoPartKeepsWhatItOwns) {
  const PlannedCluster placed = ClusterFor(ProfileOf({1, 1, 1, 0.25}, 1), {Reduce::kDirect});
  const std::vector<bool> among = {true, true, true, false};
  const auto seconds = [&](const ShardShares& shares) {
    const Result<double> exchange = ExchangeAmong(OwnedAs(placed, shares), among);
    EXPECT_TRUE(exchange.ok());
    return exchange.ok() ? *exchange : 0;
  };
  // Its link carries a quarter of three vectors each way.
  EXPECT_NEAR(seconds({0.25, 0.25, 0.25, 0.25}), 0.25 * (3 + 3) / 0.25, 1e-9);
  // The other owners publish to it, too, as far as its link carries that.
  EXPECT_NEAR(seconds({1. / 3, 1. / 3, 1. / 3, 0}), 2. / 3 + (2 + 0.25) / 3, 1e-9);
}

TEST(PlannedReduction, AutoTakesTheBestPlacement) {
  const ClusterProfile thin = ProfileOf({1, 1, 1, 1}, 1), wide = ProfileOf({1, 1, 1}, 100);
  EXPECT_NEAR(StepOf(ClusterFor(thin, {Reduce::kAuto})),
              StepOf(ClusterFor(thin, {Reduce::kDirect})), 1e-9);
  const auto choice = ReductionAmong(ClusterFor(wide, {Reduce::kAuto}), {true, true, true});
  ASSERT_TRUE(choice.ok());
  EXPECT_LT(choice->cost.Total(), choice->reason.star.Total() + 1e-9);
}

}  // namespace
}  // namespace motley
