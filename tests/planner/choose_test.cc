// SPDX-License-Identifier: Apache-2.0
// Tests what a job chooses by predicted and observed step times.
#include "planner/auto/choose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace motley {
namespace {

const Candidate kCopies = {"adaptive", 2};

PlannedScheme Scheme(const Candidate& candidate, double seconds) {
  PlannedScheme scheme;
  scheme.candidate = candidate;
  scheme.cost.expected = seconds;
  return scheme;
}

Ranking Schemes(double plain, double copies) {
  Ranking ranking;
  ranking.schemes = {Scheme(kCopies, copies), Scheme(kPlain, plain)};
  return ranking;
}

PlannedCluster Cluster() {
  PlannedCluster cluster;
  cluster.workers.resize(4);
  cluster.remaining_steps = 1000;
  return cluster;
}

ChoiceRequest Runs(const Candidate& running) { return {running, false, {}}; }

TEST(Choose, ChangesOnlyForAGainThatPaysBack) {
  PlannedCluster cluster = Cluster();
  cluster.data_seconds = 10;
  EXPECT_EQ(Choose(Runs(kPlain), Schemes(1, 0.5), cluster), kCopies);
  EXPECT_EQ(Choose(Runs(kPlain), Schemes(1, 0.95), cluster), kPlain);
  cluster.remaining_steps = 30;  // The gain is 15 s, and one more copy costs 10 s.
  EXPECT_EQ(Choose(Runs(kPlain), Schemes(1, 0.5), cluster), kPlain);
  cluster.data_seconds = 1;
  EXPECT_EQ(Choose(Runs(kPlain), Schemes(1, 0.5), cluster), kCopies);
}

TEST(Choose, MoreCopiesHaveToGainMoreThanMessagesMayCost) {
  EXPECT_EQ(Choose(Runs(kPlain), Schemes(0.004, 0.0025), Cluster()), kPlain);
  EXPECT_EQ(Choose(Runs(kPlain), Schemes(0.006, 0.0035), Cluster()), kCopies);
  EXPECT_EQ(Choose(Runs(kCopies), Schemes(0.0025, 0.004), Cluster()), kPlain);
}

TEST(Choose, LeavesASchemeThatCannotGoOn) {
  Ranking ranking = Schemes(1, 5);
  ranking.schemes[1].refused = "no room";
  EXPECT_EQ(Choose(Runs(kPlain), ranking, Cluster()), kCopies);
}

TEST(Choose, PassesOverWhatNoJobRunsAndWhatLeavesAnError) {
  Ranking ranking = Schemes(1, 1);
  ranking.schemes.push_back(Scheme({"partial-coded", 2}, 0.1));
  ranking.schemes.push_back(Scheme({"approximate", 2}, 0.1));
  ranking.schemes.back().exact = false;
  EXPECT_EQ(Choose(Runs(kPlain), ranking, Cluster()), kPlain);
  ranking.schemes = {ranking.schemes[2], ranking.schemes[3]};
  EXPECT_EQ(Choose(Runs(kPlain), ranking, Cluster()), std::nullopt);
}

TEST(Choose, PassesOverWeightsWhereAnswersAreOnlyAdded) {
  Ranking ranking = Schemes(1, 1);
  ranking.schemes.push_back(Scheme({"heterogeneous", 2}, 0.1));
  ranking.schemes.push_back(Scheme({"short", 3}, 0.1));
  ChoiceRequest request = Runs(kPlain);
  EXPECT_NE(Choose(request, ranking, Cluster()), kPlain);
  request.unweighted = true;
  EXPECT_EQ(Choose(request, ranking, Cluster()), kPlain);
}

// Leases with copies cost nothing while no worker is slow.
TEST(Choose, WhoKnowsNothingInsuresHimselfWhereThatIsCheap) {
  PlannedCluster cluster = Cluster();
  EXPECT_EQ(Choose({}, Schemes(1, 1.01), cluster), kCopies);
  EXPECT_EQ(Choose({}, Schemes(1, 1.2), cluster), kPlain);
  cluster.data_seconds = 100;  // Far above the limit of five steps.
  EXPECT_EQ(Choose({}, Schemes(1, 1.01), cluster), kPlain);
}

// Sending copies may take five steps, however long the job is. Until they have arrived, copies help
// nobody and delay other messages.
TEST(Choose, NobodyInsuresHimselfWithCopiesThatTakeManySteps) {
  PlannedCluster cluster = Cluster();
  cluster.remaining_steps = 100'000;
  cluster.data_seconds = 4.5;
  EXPECT_EQ(Choose({}, Schemes(1, 1.01), cluster), kCopies);
  cluster.data_seconds = 5.5;
  EXPECT_EQ(Choose({}, Schemes(1, 1.01), cluster), kPlain);
}

TEST(Choose, OfThoseThatGainAsMuchTheOneThatSendsLeast) {
  PlannedCluster cluster = Cluster();
  cluster.data_seconds = 0.1;
  Ranking ranking = Schemes(1, 0.505);
  ranking.schemes.push_back(Scheme({"adaptive", 3}, 0.5));
  EXPECT_EQ(Choose(Runs(kPlain), ranking, cluster), kCopies);
  ranking.schemes[0].cost.expected = 0.55;
  EXPECT_EQ(Choose(Runs(kPlain), ranking, cluster)->copies, 3u);
}

TEST(Choose, OneSlowStepIsNoProof) {
  PlannedCluster cluster = Cluster();
  Ranking ranking = Schemes(2, 1);
  cluster.rounds.resize(8);
  ranking.schemes[0].cost.rounds.assign(8, 1);
  ranking.schemes[1].cost.rounds = {1, 1, 1, 1, 1, 1, 1, 9};
  EXPECT_EQ(Choose(Runs(kPlain), ranking, cluster), kPlain);
  ranking.schemes[1].cost.rounds = {2, 2, 2, 2, 2, 2, 2, 2};
  EXPECT_EQ(Choose(Runs(kPlain), ranking, cluster), kCopies);
}

// A ranking in which `scheme` ran. It took `took` seconds in each of four rounds, and takes
// `foreseen` when they are replayed.
Ranking Seen(Ranking ranking, size_t scheme, double foreseen, double took,
             PlannedCluster& cluster) {
  cluster.rounds.assign(4, PlannedRound{{}, took});
  ranking.schemes[scheme].cost.rounds.assign(4, foreseen);
  return ranking;
}

TEST(Choose, StepsThatTakeMoreThanForeseenSpeakAgainstAScheme) {
  PlannedCluster cluster = Cluster();
  EXPECT_EQ(Choose(Runs(kCopies), Schemes(1, 0.8), cluster), kCopies);
  const Ranking seen = Seen(Schemes(1, 0.8), 0, 0.8, 1.6, cluster);
  EXPECT_NEAR(FactorOf(kCopies, seen, cluster).value(), 2, 1e-9);
  EXPECT_EQ(Choose(Runs(kCopies), seen, cluster), kPlain);
}

TEST(Choose, OneLateRoundSpeaksAgainstNothing) {
  PlannedCluster cluster = Cluster();
  Ranking seen = Seen(Schemes(1, 0.8), 0, 0.8, 0.8, cluster);
  cluster.rounds.back().seconds = 100;
  EXPECT_EQ(Choose(Runs(kCopies), seen, cluster), kCopies);
  for (PlannedRound& round : cluster.rounds) round.seconds = 0;  // Another scheme ran.
  EXPECT_EQ(FactorOf(kCopies, seen, cluster), std::nullopt);
}

TEST(Choose, WhatWasLeftIsRememberedWithAnyNumberOfCopies) {
  ChoiceRequest request = Runs(kPlain);
  EXPECT_EQ(Choose(request, Schemes(1, 0.5), Cluster()), kCopies);
  request.before = {{"adaptive", 2.5, 10}};
  EXPECT_EQ(Choose(request, Schemes(1, 0.5), Cluster()), kPlain);
}

// Steps take 1 s that the model does not know. A gain of 0.05 s is large in 0.2 s and small in 1.2
// s.
TEST(Choose, WhatTheModelDoesNotKnowCostsOthersAsMuch) {
  PlannedCluster cluster = Cluster();
  EXPECT_EQ(Choose(Runs(kPlain), Schemes(0.2, 0.15), cluster), kCopies);
  const Ranking seen = Seen(Schemes(0.2, 0.15), 1, 0.2, 1.2, cluster);
  EXPECT_EQ(Choose(Runs(kPlain), seen, cluster), kPlain);
}

}  // namespace
}  // namespace motley
