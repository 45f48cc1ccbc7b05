// SPDX-License-Identifier: Apache-2.0
// Jobs that choose their code: which code they choose, when they choose again, and that changing
// policies loses nothing. The virtual cluster checks that every step counts each partition once.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "coding/gradient_code.h"
#include "planner/auto/choose.h"
#include "planner/auto/observed_cluster.h"
#include "planner/auto/plan_round.h"
#include "scheduler/job_scheduler.h"
#include "scheduler/learned/vector_watch.h"
#include "scheduler/placement/relabel.h"
#include "scheduler/placement/row_speeds.h"
#include "tests/scheduler/virtual_cluster.h"

namespace motley {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

Time At(double seconds) { return Time{} + FromSeconds(seconds); }

void ExpectDone(const VirtualCluster& cluster, const std::string& what = "") {
  EXPECT_THAT(cluster.violations(), IsEmpty()) << what;
  EXPECT_TRUE(cluster.end_status().ok()) << what << cluster.end_status().ToString();
}

TEST(Auto, SaysWhatItChoseAndStaysWithIt) {
  VirtualCluster cluster(AutoOptions(4, 400), {400, 400, 400, 400}, 1);
  cluster.Run(1000);
  ExpectDone(cluster);
  const SchedulerStats stats = cluster.Stats();
  ASSERT_FALSE(stats.choices.empty());
  EXPECT_LE(stats.choices.size(), 3u);
  EXPECT_EQ(stats.code, stats.choices.back().code);
  EXPECT_GE(stats.choices[0].step, 3u) << "no worker is known before";
  EXPECT_LE(stats.choices[0].step, 20u);
  EXPECT_LE(stats.choices.back().step, 350u);
  const std::vector<notice::CodeChosen> chosen = Only<notice::CodeChosen>(cluster.notices());
  ASSERT_FALSE(chosen.empty());
  EXPECT_THAT(chosen.back().code, StartsWith(stats.code));
  EXPECT_GT(chosen.back().why.predicted.value_or(0), 0);
  for (const auto& each : chosen) EXPECT_FALSE(each.why.feared) << "no worker is often slow";
}

TEST(Auto, WhatIsAskedForIsTheLeastThatItTolerates) {
  for (const uint32_t least : {1u, 2u}) {
    SchedulerOptions options = AutoOptions(5, 60, least);
    VirtualCluster cluster(options, {400, 400, 200, 200, 100}, 2);
    cluster.Run(1000);
    ExpectDone(cluster);
    const SchedulerStats stats = cluster.Stats();
    ASSERT_FALSE(stats.choices.empty());
    for (const CodeChoice& choice : stats.choices) EXPECT_GE(choice.tolerate, least);
  }
}

TEST(Auto, EqualSharesAreLeftAlone) {
  SchedulerOptions options = AutoOptions(4, 60);
  options.shares = Shares::kEqual;
  VirtualCluster cluster(options, {400, 400, 200, 100}, 3);
  cluster.Run(1000);
  ExpectDone(cluster);
  EXPECT_THAT(cluster.Stats().choices, IsEmpty());
  EXPECT_EQ(cluster.Stats().code, "none");
}

TEST(Auto, WhereVectorsOfAllWorkersFindNoRoomNothingIsLeased) {
  SchedulerOptions options = AutoOptions(6, 80);
  options.most_sums = 2;
  VirtualCluster cluster(options, {400, 400, 400, 400, 400, 100}, 4);
  cluster.Run(1000);
  ExpectDone(cluster);
  for (const CodeChoice& choice : cluster.Stats().choices) {
    EXPECT_NE(choice.code, "adaptive");
    EXPECT_LE(choice.tolerate, 1u);
  }
}

// From step 60 on, one worker is slow in every eighth step, so the first choice is no longer right.
TEST(Auto, LooksAgainWhenAWorkerBecomesSlow) {
  SchedulerOptions options = AutoOptions(4, 400);
  VirtualCluster cluster(options, {400, 400, 400, 400}, 5);
  for (StepId step = 60; step < 400; step += 8) {
    cluster.SetSpeedAtStep(step, 3, 40);
    cluster.SetSpeedAtStep(step + 1, 3, 400);
  }
  cluster.Run(2000);
  ExpectDone(cluster);
  EXPECT_EQ(cluster.Stats().steps_committed, 400u);
  EXPECT_FALSE(cluster.Stats().choices.empty());
}

// Rows take far longer than the leases with which the job began. While a worker is away nothing is
// measured, so a trial of rows would have no end. It must end before it costs much.
TEST(Auto, ATrialThatLosesAWorkerDoesNotGoOnForLong) {
  VirtualCluster cluster(AutoOptions(4, 120), {400, 400, 400, 400}, 6);
  cluster.SetRowSeconds(30);
  cluster.Kill(12, 3);  // Kills worker 3 in the first step with plain shares.
  cluster.Run(20000);
  ExpectDone(cluster);
  EXPECT_EQ(cluster.Stats().code, "adaptive");
  double all = 0;
  for (const double seconds : cluster.step_seconds()) all += seconds;
  EXPECT_LT(all, 500);
}

TEST(ObservedCluster, WhoIsSentAwayIsAChange) {
  SchedulerOptions options = AutoOptions(4, 100);
  options.code = "none";
  const auto job = JobScheduler::Make(options);
  ASSERT_TRUE(job.ok()) << job.status().ToString();
  ObservedCluster observed(options);
  const uint64_t before = observed.changes();
  observed.See(Command(DropWorker{2, Status::DataError("nonsense")}), Time(), (*job)->state());
  EXPECT_EQ(observed.changes(), before + 1);
}

TEST(ObservedCluster, KnowsWhoOwnsTheVector) {
  SchedulerOptions options = AutoOptions(3, 10);
  options.code = "none";
  auto job = JobScheduler::Make(options);
  ASSERT_TRUE(job.ok());
  std::vector<Command> commands;
  for (const WorkerId id : {0u, 2u}) {
    (*job)->OnEvent(WorkerJoined{id, 1}, At(0), commands);
    (*job)->OnEvent(WorkerFree{id, 0, {}, 100}, At(0), commands);
  }
  ObservedCluster observed(options);
  EXPECT_FALSE(observed.Cluster((*job)->state()).owned);
  // Node 4 is a shard server, node 1 owns a part and computes nothing, and nobody has measured the
  // link of worker 2.
  const std::map<WorkerId, NodeLink> workers = {{0, {10, 20}}, {1, {30, 40}}};
  observed.See(OwnersPlaced{{{0, 0.25}, {1, 0.25}, {4, 0.5}}, workers, {{4, {1, 2}}}, 1000, 2},
               At(1), (*job)->state());
  EXPECT_EQ(observed.changes(), 1u);
  const PlannedCluster cluster = observed.Cluster((*job)->state());
  ASSERT_TRUE(cluster.owned);
  EXPECT_EQ(cluster.gradient_bytes, 1000);
  const Exchange& exchange = cluster.owned->exchange;
  EXPECT_EQ(exchange.workers, (std::vector<NodeLink>{{10, 20}, {20, 30}}));
  EXPECT_EQ(exchange.servers, (std::vector<NodeLink>{{30, 40}, {1, 2}}));
  EXPECT_EQ(cluster.owned->shares, (ShardShares{0.25, 0, 0.25, 0.5}));
  EXPECT_EQ(exchange.bytes, 1000);
  EXPECT_EQ(exchange.followers, 2);
  observed.See(WorkerJoined{0, 2}, At(2), (*job)->state());
  EXPECT_EQ(observed.Cluster((*job)->state()).owned->exchange.workers.front(), (NodeLink{30, 40}))
      << "its new process may be elsewhere";
}

TEST(ObservedCluster, WhoLeavesIsNoLoss) {
  SchedulerOptions options = AutoOptions(3, 100);
  options.code = "none";
  const auto job = JobScheduler::Make(options);
  ASSERT_TRUE(job.ok()) << job.status().ToString();
  std::vector<Command> commands;
  for (WorkerId worker = 0; worker < 3; ++worker) {
    (*job)->OnEvent(WorkerJoined{worker, 1}, Time(), commands);
    (*job)->OnEvent(WorkerFree{worker, 0, Duration(), 100}, Time(), commands);
  }
  const auto chance = [&](const Status& why) {
    ObservedCluster observed(options);
    observed.See(Event(WorkerLost{2, why}), Time(), (*job)->state());
    EXPECT_EQ(observed.changes(), 1u);
    return observed.Cluster((*job)->state()).workers[0].loss_probability;
  };
  const double usual =
      ObservedCluster(options).Cluster((*job)->state()).workers[0].loss_probability;
  EXPECT_EQ(chance(Status::Cancelled("it left")), usual);
  EXPECT_GT(chance(Status::Unavailable("gone")), usual);
}

// Every policy takes over from every other while workers die, pause, come back and are refused.
TEST(Auto, GoingOnFromOneCodeToAnotherLosesNothing) {
  std::set<std::string> codes;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed, Stream::kTest, 1);
    const auto workers = static_cast<uint32_t>(2 + random.Below(6));
    SchedulerOptions options = AutoOptions(workers, 40);
    options.seed = seed;
    options.draw_codes_every = static_cast<uint32_t>(1 + random.Below(4));
    std::vector<double> speeds;
    for (uint32_t w = 0; w < workers; ++w) speeds.push_back(100 + random.NextDouble() * 900);
    VirtualCluster cluster(options, speeds, seed);
    const auto anybody = [&] { return static_cast<WorkerId>(random.Below(workers)); };
    for (int i = 0; i < 3; ++i) cluster.Pause(random.NextDouble() * 8, anybody(), 1.5);
    const WorkerId spoiler =
        anybody();  // Two spoilt answers in one step would look like divergence.
    for (int i = 0; i < 2; ++i) cluster.SpoilNext(random.NextDouble() * 8, spoiler, i == 0);
    const WorkerId victim = anybody();
    cluster.Kill(2, victim);
    if (random.Chance(0.5)) cluster.Restart(4, victim);
    cluster.Run(3600);
    if (cluster.living() == 0) continue;
    ExpectDone(cluster, fmt::format("seed {}: ", seed));
    const SchedulerStats stats = cluster.Stats();
    EXPECT_EQ(stats.steps_committed, 40u)
        << "seed " << seed << ": totals must include earlier policies";
    for (const CodeChoice& choice : stats.choices) codes.insert(choice.code);
  }
  for (const char* code : {"none", "repetition", "heterogeneous", "group", "adaptive", "short"}) {
    EXPECT_TRUE(codes.contains(code)) << code << " was never drawn";
  }
}

// --- Parts of the choice ---

TEST(RelabelToHeld, WhatIsHeldIsNotSentAgain) {
  for (const char* name : {"none", "repetition", "heterogeneous", "group"}) {
    CodeRequest request;
    request.speeds = {1, 2, 3, 2};
    request.stragglers = name == std::string("none") ? 0 : 1;
    request.partitions = 64;
    const CodeForm code = BuildCode(name, request).value();
    // Every worker holds as many partitions as the code gives it, but with other numbers.
    std::vector<std::vector<bool>> held(4, std::vector<bool>(64, false));
    for (size_t w = 0; w < 4; ++w) {
      for (const CodeEntry& entry : code.rows[w]) held[w][(entry.partition * 13 + 5) % 64] = true;
    }
    std::vector<const std::vector<bool>*> places;
    for (const auto& one : held) places.push_back(&one);
    const CodeForm same = RelabelToHeld(code, places);
    EXPECT_TRUE(Validate(same).ok()) << Validate(same).ToString();
    for (size_t w = 0; w < 4; ++w) {
      EXPECT_THAT(same.rows[w], SizeIs(code.rows[w].size()));
      for (const CodeEntry& entry : same.rows[w]) {
        EXPECT_TRUE(held[w][entry.partition]) << name << " worker " << w;
      }
    }
  }
}

// When partitions are renumbered, the coefficients of the other parts must move with them.
TEST(RelabelToHeld, ShortAnswersStayWhatTheyAre) {
  CodeRequest request;
  request.speeds = {1, 2, 3, 2, 2};
  request.stragglers = 1;
  request.parts = 3;
  request.partitions = 40;
  const CodeForm code = BuildCode("short", request).value();
  std::vector<std::vector<bool>> held(5, std::vector<bool>(40, false));
  for (size_t p = 0; p < 40; ++p) held[p * 7 % 5][p] = true;
  std::vector<const std::vector<bool>*> places;
  for (const auto& one : held) places.push_back(&one);
  const CodeForm same = RelabelToHeld(code, places);
  EXPECT_TRUE(Validate(same).ok()) << Validate(same).ToString();
  bool moved = false;
  for (size_t w = 0; w < 5; ++w) {
    ASSERT_THAT(same.rows[w], SizeIs(code.rows[w].size()));
    for (size_t i = 0; i < same.rows[w].size(); ++i) {
      moved |= same.rows[w][i].partition != code.rows[w][i].partition;
    }
  }
  EXPECT_TRUE(moved) << "nothing was renumbered";
}

TEST(RelabelToHeld, OfTwoHoldersOneIsChosenSoThatAllFit) {
  CodeRequest request;
  request.speeds = {1, 1, 1};
  request.partitions = 30;
  const CodeForm code = BuildCode("none", request).value();
  std::vector<std::vector<bool>> held(3, std::vector<bool>(30, false));
  for (size_t p = 0; p < 30; ++p) held[p % 3][p] = held[(p + 1) % 3][p] = true;
  const CodeForm same = RelabelToHeld(code, {&held[0], &held[1], &held[2]});
  EXPECT_TRUE(Validate(same).ok());
  for (size_t w = 0; w < 3; ++w) {
    EXPECT_THAT(same.rows[w], SizeIs(10));
    for (const CodeEntry& entry : same.rows[w]) EXPECT_TRUE(held[w][entry.partition]);
  }
}

TEST(SpeedsWithWaits, WhoseAnswerTakesLongComputesLess) {
  // Both are done at 2 s: 100 (2 - 0) + 100 (2 - 1) = 300.
  const std::vector<double> speeds = SpeedsWithWaits({100, 100}, {0, 1}, 300, 300);
  EXPECT_NEAR(speeds[0], 100, 1e-6);
  EXPECT_NEAR(speeds[1], 50, 1e-6);
}

TEST(SpeedsWithWaits, BehindALinkThatIsTooSlowNothingIsComputed) {
  const std::vector<double> speeds = SpeedsWithWaits({100, 100, 500}, {0, 0, 30}, 200, 200);
  EXPECT_NEAR(speeds[0], speeds[1], 1e-9);
  EXPECT_LT(speeds[2], 1e-3 * speeds[0]);
}

TEST(SpeedsWithWaits, SmallDifferencesAreNone) {
  EXPECT_THAT(SpeedsWithWaits({100, 300}, {0.5, 0.51}, 400, 400), testing::ElementsAre(100, 300));
}

void Vector(VectorWatch& link, WorkerId worker, double from, double to) {
  link.See(RowArrived{worker, 0, 0, FromSeconds(to - from)}, At(to));
}

TEST(VectorWatch, VectorsThatShareTheServersLinkSayWhatEachTakesOfIt) {
  VectorWatch link;
  Vector(link, 0, 0, 1);  // This vector is alone.
  link.StepEnded();
  for (int step = 1; step <= 20; ++step) {  // Two at a time take twice as long.
    Vector(link, 0, 10.0 * step, 10.0 * step + 2);
    Vector(link, 1, 10.0 * step, 10.0 * step + 2);
    link.StepEnded();
  }
  EXPECT_NEAR(link.message_seconds(), 1, 0.01);
}

TEST(VectorWatch, VectorsOnLinksOfTheirOwnAreNotInEachOthersWay) {
  VectorWatch link;
  for (int step = 1; step <= 40; ++step) {
    for (WorkerId w = 0; w < 4; ++w) Vector(link, w, 10.0 * step, 10.0 * step + 1);
    link.StepEnded();
  }
  EXPECT_NEAR(link.message_seconds(), 0.25, 0.01);
  EXPECT_NEAR(link.SendSeconds(2), 0.75, 0.01);
  EXPECT_NEAR(link.SendSeconds(99), 0.75, 0.01) << "an unknown worker is like the others";
}

// In each step four vectors arrive at the same time.
void Together(VectorWatch& link, double seconds) {
  for (int step = 1; step <= 40; ++step) {
    for (WorkerId w = 0; w < 4; ++w) Vector(link, w, 100.0 * step, 100.0 * step + seconds);
    link.StepEnded();
  }
}

TEST(VectorWatch, WhatOneTakesAloneTellsWhoseLinkIsNarrow) {
  VectorWatch link;
  Together(link, 4);
  EXPECT_FALSE(link.KnowsLinks());
  EXPECT_NEAR(link.SendSeconds(3), 3, 0.01) << "the worker's own link is blamed";
  link.See(LinkMeasured{0, FromSeconds(1.5)}, At(9000));
  link.See(LinkMeasured{0, FromSeconds(1.25)}, At(9000));  // This one met less traffic.
  EXPECT_TRUE(link.KnowsLinks());
  EXPECT_NEAR(link.message_seconds(), 1, 0.01);
  EXPECT_NEAR(link.SendSeconds(0), 0.25, 0.01);
  EXPECT_NEAR(link.SendSeconds(3), 0.25, 0.01) << "its link was not measured";
  link.See(LinkMeasured{3, FromSeconds(3.9)}, At(9000));
  EXPECT_NEAR(link.SendSeconds(3), 2.9, 0.01) << "its own link is narrow";
  link.See(WorkerJoined{0, 7}, At(9001));
  EXPECT_NEAR(link.SendSeconds(0), 2.9, 0.05)
      << "a new process may be elsewhere, and counts like the others";
}

TEST(VectorWatch, AVectorIsNoLongerOnTheServersLinkThanItTakesAlone) {
  VectorWatch link;
  Together(link, 4);
  link.See(LinkMeasured{0, FromSeconds(0.25)}, At(9000));
  EXPECT_NEAR(link.message_seconds(), 0.25, 0.01);
  EXPECT_EQ(link.SendSeconds(0), 0);
}

TEST(VectorWatch, OfLinksThatAreTheirOwnAMeasurementSaysNothingNew) {
  VectorWatch link;
  Together(link, 4);
  for (WorkerId w = 0; w < 4; ++w) link.See(LinkMeasured{w, FromSeconds(4.5)}, At(9000));
  EXPECT_TRUE(link.KnowsLinks());
  for (WorkerId w = 0; w < 4; ++w) EXPECT_NEAR(link.SendSeconds(w), 3, 0.01);
}

// Vectors go to their owners, so none shows the server a link. Owners keep their own part.
TEST(VectorWatch, WhereOthersOwnTheVectorTheMeasuredLinksCount) {
  VectorWatch link;
  const std::map<WorkerId, NodeLink> workers = {{0, {50, 9}}, {1, {100, 9}}, {2, {20, 9}}};
  link.See(OwnersPlaced{{{0, 0.5}, {1, 0.5}}, workers, {{7, {1, 1}}}, 200, 1}, At(0));
  EXPECT_EQ(link.SendSeconds(0), 2);
  EXPECT_EQ(link.SendSeconds(1), 1);
  EXPECT_EQ(link.SendSeconds(2), 10);
  EXPECT_EQ(link.SendSeconds(3), 2) << "the median";
  EXPECT_EQ(link.message_seconds(), 0);
  EXPECT_FALSE(link.KnowsLinks()) << "the server's link is in nobody's way";
}

TEST(VectorWatch, ShortAnswersArePartsOfVectors) {
  VectorWatch link;
  for (int step = 1; step <= 40; ++step) {
    for (WorkerId w = 0; w < 4; ++w) {
      link.See(RowArrived{w, 0, 0, FromSeconds(0.5)}, At(10.0 * step), 0.5);
    }
    link.StepEnded();
  }
  EXPECT_NEAR(link.message_seconds(), 0.25, 0.01);
  EXPECT_NEAR(link.SendSeconds(2), 0.75, 0.01);
}

RoundRequest Request(uint32_t workers, double slow_probability) {
  RoundRequest request;
  request.partitions = 16 * workers;
  request.cluster.samples = 64 * workers;
  request.cluster.doubt = 0.03;
  request.cluster.remaining_steps = 1000;
  for (WorkerId w = 0; w < workers; ++w) {
    PlannedWorker worker;
    worker.curve.seconds_per_sample = 0.001;
    worker.slow_probability = slow_probability;
    worker.slow_factor = 10;
    worker.latency_seconds = 0.0002;
    request.cluster.workers.push_back(worker);
    request.workers.push_back(w);
  }
  return request;
}

Candidate ChoiceOf(const RoundRequest& request, ChoiceReason* why = nullptr) {
  PlanRound round(request);
  while (!round.done()) EXPECT_GT(round.TryNext(), 0);
  const Ranking ranking = round.Rank().value();
  const Candidate choice = Choose({}, ranking, request.cluster).value();
  if (why != nullptr) *why = WhyChosen(choice, ranking, request.cluster, request.workers);
  return choice;
}

TEST(PlanRound, StragglersAreInsuredAgainstAndNamed) {
  RoundRequest request = Request(4, 0.05);
  request.cluster.workers[2].slow_probability = 0.2;
  ChoiceReason why;
  const Candidate choice = ChoiceOf(request, &why);
  EXPECT_GE(choice.copies, 2u);
  EXPECT_LT(why.than_plain.value_or(0), 0);
  EXPECT_EQ(why.feared, (ChoiceReason::Feared{.worker = 2, .often = 0.2}));
}

TEST(PlanRound, WithoutAnythingToFearAndMuchDataNothingIsCoded) {
  RoundRequest request = Request(4, 0);
  request.cluster.data_seconds = 100;
  ChoiceReason why;
  EXPECT_EQ(ChoiceOf(request, &why), kPlain);
  EXPECT_FALSE(why.copies);
  EXPECT_FALSE(why.feared);
}

TEST(PlanRound, RowsOfFewerWorkersThatRunStayACandidate) {
  RoundRequest request = Request(8, 0);
  request.running = Candidate{"none", 1, 5};
  PlanRound round(request);
  while (!round.done()) round.TryNext();
  const Ranking ranking = round.Rank().value();
  EXPECT_NE(Foreseen({"none", 1, 5}, ranking), nullptr);
  EXPECT_EQ(Foreseen({"none", 1, 4}, ranking), nullptr);
}

TEST(PlanRound, WhatProvedUselessIsNoCandidate) {
  RoundRequest request = Request(4, 0.05);
  const Candidate choice = ChoiceOf(request);
  request.without = {choice};
  EXPECT_FALSE(ChoiceOf(request) == choice);
}

}  // namespace
}  // namespace motley
