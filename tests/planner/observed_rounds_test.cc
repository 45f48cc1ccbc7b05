// SPDX-License-Identifier: Apache-2.0
#include "planner/auto/observed_rounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/scheme_cost.h"

namespace motley {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

Time At(double seconds) { return Time(FromSeconds(seconds)); }

// Two workers with partitions of 8 samples. A step takes one second.
class Rounds : public testing::Test {
 protected:
  void Open(double at) { rounds_.See(Command(OpenLeases{0}), At(at)); }
  void Give(WorkerId worker, double at) {
    rounds_.See(Command(ExtendLease{worker, 0, {0, 1, 2, 3, 4, 5, 6, 7}}), At(at));
  }
  void Report(WorkerId worker, uint32_t partitions, double compute) {
    rounds_.See(Event(LeaseProgress{worker, 0, partitions, FromSeconds(compute)}));
  }
  void Commit(double at) { rounds_.See(Command(CommitStep{0}), At(at)); }
  std::vector<PlannedRound> Seen() const { return rounds_.Of({0, 1}); }

  ObservedRounds rounds_{8};
};

TEST_F(Rounds, TellLateBeginningsFromSlowWork) {
  Open(0);
  Give(0, 0);
  Give(1, 0);
  Report(0, 4, 0.7);  // The next 32 samples take 0.1 s, so it began 0.6 s late.
  Report(0, 8, 0.8);
  Report(1, 4, 0.4);
  Report(1, 8, 0.8);
  Commit(1);
  ASSERT_THAT(Seen(), SizeIs(1));
  EXPECT_NEAR(Seen()[0].workers[0].begins_late, 0.6, 1e-9);
  EXPECT_NEAR(Seen()[0].workers[0].seconds_per_sample, 0.1 / 32, 1e-9);
  EXPECT_NEAR(Seen()[0].workers[1].begins_late, 0, 1e-9);
  EXPECT_NEAR(Seen()[0].workers[1].seconds_per_sample, 0.4 / 32, 1e-9);
}

TEST_F(Rounds, ASilentWorkerBeginsWhenTheStepEndsAtTheEarliest) {
  Open(0);
  Give(0, 0.25);
  Commit(1);
  EXPECT_NEAR(Seen()[0].workers[0].begins_late, 0.75, 1e-9);
  EXPECT_EQ(Seen()[0].workers[0].seconds_per_sample, 0) << "its speed is unknown";
  Open(1);
  rounds_.See(
      Event(WorkerFree{0, 32, FromSeconds(1.5), 0}));  // This report is about the step before.
  EXPECT_EQ(Seen()[0].workers[0].begins_late, 0);
  EXPECT_NEAR(Seen()[0].workers[0].seconds_per_sample, 1.5 / 32, 1e-9);
}

// A device behind a network begins 0.7 s late, whatever its load.
TEST_F(Rounds, ASingleReportIsALateBeginningWhereOthersBeginLate) {
  Open(0);
  Give(0, 0);
  Give(1, 0);
  Report(0, 1, 0.71);
  Report(0, 8, 0.78);
  Report(1, 1, 0.71);
  Commit(1);
  EXPECT_NEAR(Seen()[0].workers[0].begins_late, 0.7, 1e-9);
  // Computing is the same part of its time as in worker 0's best mean: 0.01 s of 0.0975 s per
  // partition.
  EXPECT_NEAR(Seen()[0].workers[1].begins_late, 0.71 * (1 - 0.01 / 0.0975), 1e-3);
}

TEST_F(Rounds, AllRowsOfAListCount) {
  rounds_.See(Command(OpenStep{}), At(0));
  rounds_.See(Command(AssignRow{0, 0, 0}), At(0));
  rounds_.See(Event(WorkerFree{0, 8, FromSeconds(0.71), 0}));
  rounds_.See(Event(WorkerFree{0, 16, FromSeconds(0.02), 0}));
  Commit(1);
  EXPECT_NEAR(Seen()[0].workers[0].begins_late, 0.7, 1e-9);
  EXPECT_NEAR(Seen()[0].workers[0].seconds_per_sample, 0.02 / 16, 1e-9);
}

TEST_F(Rounds, TimesOfAnotherSchemeAreForgottenAndItsWorkersAreNot) {
  for (double at : {0, 1}) {
    Open(at);
    Give(0, at);
    Report(0, 8, 0.8);
    Commit(at + 1);
    rounds_.Took(1);
    if (at == 0) rounds_.Change();
  }
  ASSERT_THAT(Seen(), SizeIs(2));
  EXPECT_EQ(Seen()[0].seconds, 0);
  EXPECT_EQ(Seen()[1].seconds, 1);
  EXPECT_GT(Seen()[0].workers[0].seconds_per_sample, 0);
}

TEST_F(Rounds, TheLastOnesAreKeptAndFewerOfManyWorkers) {
  EXPECT_THAT(Seen(), IsEmpty());
  for (int step = 0; step < 100; ++step) {
    Open(step);
    Commit(step + 1);
  }
  EXPECT_THAT(Seen(), SizeIs(32));
  EXPECT_THAT(rounds_.Of(std::vector<WorkerId>(256)), SizeIs(8));
}

// A replayed round keeps delays together that came together, and counts as it was observed.
TEST(ReplayedRounds, CountAsTheyCame) {
  PlannedCluster cluster;
  cluster.samples = 256;
  PlannedWorker worker;
  worker.curve.seconds_per_sample = 0.01;
  cluster.workers.assign(4, worker);
  SchemeRequest request;
  request.partitions = 64;
  request.copies = 1;
  request.workers = StepWorkersOf(cluster, request.partitions);
  const StepScheme plain = MakeStepScheme("none", request).value();
  const double calm = CostOf(plain, cluster, {}).expected;
  PlannedRound usual, late;
  usual.workers.resize(4);
  late.workers.resize(4);
  late.workers[2].begins_late = 2;
  late.workers[3].seconds_per_sample = 0.04;
  cluster.rounds = {usual, late};
  const SchemeCost cost = CostOf(plain, cluster, {});
  ASSERT_THAT(cost.rounds, SizeIs(2));
  EXPECT_NEAR(cost.rounds[0], 0.64, 0.01);
  EXPECT_NEAR(cost.rounds[1], 2.64, 0.01) << "the later of the two delays decides";
  EXPECT_GT(cost.expected, calm);
}

}  // namespace
}  // namespace motley
