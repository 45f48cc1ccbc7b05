// SPDX-License-Identifier: Apache-2.0
// Tests workers that are late, lost or send nonsense.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scheduler/script.h"

namespace motley {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

SchedulerOptions Options(uint32_t workers, const std::string& code = "none") {
  SchedulerOptions options;
  options.workers = workers;
  options.partitions = 12;
  options.code = code;
  options.tolerate = 1;
  options.batch = 120;
  options.steps = 1000;
  return options;
}

// A job in a steady state that has learned its deadlines.
class Steady {
 public:
  Steady(const SchedulerOptions& options, const std::vector<double>& speeds)
      : script(options), speeds_(speeds) {
    script.Start(speeds);
    for (int i = 0; i < 8; ++i) script.WholeStep(speeds_);
  }
  void Step() { script.WholeStep(speeds_); }
  Script script;

 private:
  std::vector<double> speeds_;
};

TEST(CodedAbsence, DeadlinesAreLearnedFromArrivals) {
  Script cold(Options(2));
  cold.Start({100, 100});
  EXPECT_GE(cold.SecondsToDeadline(), 2) << "nothing is known yet, and data has to be sent";
  Steady steady(Options(2), {100, 100});
  EXPECT_NEAR(steady.script.SecondsToDeadline(), 1.5 * 0.6 + 0.05, 0.01);
}

TEST(CodedAbsence, AnOverdueRowGoesToTheOneWhoIsFree) {
  Steady steady(Options(2), {100, 100});
  Script& script = steady.script;
  script.Advance(0.6);
  script.Arrive(0, 0);
  script.Free(0, 60, 0.6);
  EXPECT_THAT(script.TickAtDeadline(), ElementsAre("place 0 x6", "assign 0 step 8 row 1"));
  EXPECT_EQ(script.Stats().rows_reassigned, 1u);
  // The first answer wins, from any worker, and frees the other worker.
  EXPECT_THAT(script.Arrive(1, 1), ElementsAre("cancel 0 step 8", "commit 8"));
}

TEST(CodedAbsence, AnOverdueRowIsWaitedForAsLongAsSendingItsDataTakes) {
  Script script(Options(2));
  script.Start({100, 100});
  script.Advance(12.6);  // Sending data takes twelve of these seconds, two for each partition.
  for (const WorkerId id : {0, 1}) {
    script.Arrive(id, id);
    script.Free(id, 60, 0.6);
  }
  script.Applied();
  for (int i = 0; i < 10; ++i) script.WholeStep({100, 100});
  script.Advance(0.6);
  script.Arrive(0, 0);
  script.Free(0, 60, 0.6);
  EXPECT_THAT(script.TickAtDeadline(), IsEmpty()) << "overdue";
  EXPECT_THAT(script.PassTime(11.9), IsEmpty());
  EXPECT_THAT(script.PassTime(0.2), ElementsAre("place 0 x6", "assign 0 step 11 row 1"));
}

TEST(CodedAbsence, AnOverdueRowWaitsForTheFirstWhoIsFree) {
  Steady steady(Options(3), {100, 100, 100});
  Script& script = steady.script;
  script.Advance(0.4);
  script.Arrive(0, 0);
  EXPECT_THAT(script.TickAtDeadline(), IsEmpty()) << "worker 0 has not said that it is free";
  EXPECT_THAT(script.Free(0, 40, 0.4), ElementsAre("place 0 x4", "assign 0 step 8 row 1"));
}

TEST(CodedAbsence, TheHelperHoldsMostOfTheRowOrIsFastest) {
  Steady steady(Options(4), {100, 300, 100, 100});
  Script& script = steady.script;
  script.Advance(0.2);
  for (const WorkerId id : {0, 1, 3}) {
    script.Arrive(id, id);
    script.Free(id, 20, 0.2);
  }
  EXPECT_THAT(script.TickAtDeadline(), ElementsAre("place 1 x2", "assign 1 step 8 row 2"))
      << "the fastest, since nobody holds any of it";
  script.Arrive(1, 2);
  script.Free(1, 20, 0.2);
  // Worker 1 holds the row by now, so the next time nothing has to be sent.
  script.Applied();
  EXPECT_THAT(script.TickNow(), IsEmpty()) << "nobody is free for the row of the late one";
  script.Free(2, 1, 0.4);
  script.Advance(0.2);
  for (const WorkerId id : {0, 1, 3}) {
    script.Arrive(id, id);
    script.Free(id, 20, 0.2);
  }
  EXPECT_THAT(script.TickAtDeadline(), ElementsAre("assign 1 step 9 row 2"));
}

TEST(CodedAbsence, WithinTheToleranceNobodyIsReplaced) {
  Steady steady(Options(3, "rs"), {100, 100, 100});
  Script& script = steady.script;
  script.Advance(0.5);
  script.Arrive(0, 0);
  script.Free(0, 80, 0.5);
  // Worker 2 is overdue as well, but one more answer is enough and worker 1 may still give it. If
  // neither answers, one row is replaced, not two.
  EXPECT_THAT(script.TickAtDeadline(), ElementsAre("place 0 x4", "assign 0 step 8 row 1"));
  EXPECT_THAT(script.Arrive(0, 1), ElementsAre("cancel 1 step 8", "commit 8", "cancel 2 step 8"));
}

TEST(CodedAbsence, DeadlinesGrowWhileARowIsPassedOn) {
  Steady steady(Options(3), {100, 100, 100});
  Script& script = steady.script;
  script.Advance(0.4);
  for (const WorkerId id : {0, 1}) {
    script.Arrive(id, id);
    script.Free(id, 40, 0.4);
  }
  script.TickAtDeadline();
  EXPECT_EQ(script.Stats().rows_reassigned, 1u);
  const double first = script.SecondsToDeadline();
  EXPECT_THAT(script.TickAtDeadline(), ElementsAre("place 1 x4", "assign 1 step 8 row 2"));
  EXPECT_GT(script.SecondsToDeadline(), 1.5 * first);
  EXPECT_THAT(script.TickAtDeadline(), IsEmpty()) << "everybody has the row by now";
  EXPECT_THAT(script.Arrive(2, 2), ElementsAre("cancel 0 step 8", "cancel 1 step 8", "commit 8"));
}

TEST(CodedAbsence, ALostWorkerIsReplacedWithoutWaiting) {
  Steady steady(Options(2), {100, 100});
  Script& script = steady.script;
  script.Arrive(0, 0);
  script.Free(0, 60, 0.6);
  EXPECT_THAT(script.Lost(1), ElementsAre("place 0 x6", "assign 0 step 8 row 1"));
  const std::vector<notice::Lost> lost = Only<notice::Lost>(script.notices());
  ASSERT_THAT(lost, SizeIs(1));
  EXPECT_EQ(lost[0].worker, 1u);
  EXPECT_EQ(lost[0].why.ToString(), "connection reset");
  EXPECT_EQ(lost[0].live, 1u);
  EXPECT_THAT(script.Arrive(0, 1), ElementsAre("commit 8"));
  EXPECT_THAT(script.Free(0, 60, 0.6), IsEmpty());
  EXPECT_THAT(script.Applied(), ElementsAre("open 9", "assign 0 step 9 row 0"));
  const SchedulerStats stats = script.Stats();
  EXPECT_TRUE(stats.workers[1].lost);
  EXPECT_EQ(stats.workers[1].late, 1u);
  EXPECT_EQ(stats.workers[1].share, 0);
  EXPECT_EQ(stats.workers[0].share, 1);
  EXPECT_EQ(stats.workers[0].placed_partitions, 12u);
}

// The worker's row of this step would be awaited until it had finished the previous one.
TEST(CodedAbsence, ALostWorkerThatWasBusyWithAnEarlierStepIsReplacedWithoutWaiting) {
  Steady steady(Options(3, "rs"), {100, 100, 100});
  Script& script = steady.script;
  script.Advance(0.4);
  for (const WorkerId id : {0, 1}) {
    script.Arrive(id, id);
    script.Free(id, 80, 0.4);
  }
  ASSERT_THAT(script.Applied(), testing::Contains("open 9"));
  script.Arrive(0, 0);
  EXPECT_THAT(script.Free(0, 80, 0.4), IsEmpty()) << "workers 1 and 2 may still answer";
  EXPECT_THAT(script.Lost(2), IsEmpty()) << "worker 1 may still answer";
  EXPECT_THAT(script.Lost(1), testing::Contains(testing::StartsWith("assign 0 step 9")));
}

TEST(CodedAbsence, TheToleranceIsRestoredOverThoseWhoAreLeft) {
  Steady steady(Options(3, "rs"), {100, 100, 100});
  Script& script = steady.script;
  script.Lost(2);
  script.Arrive(0, 0);
  script.Free(0, 80, 0.8);
  EXPECT_THAT(script.Arrive(1, 1), ElementsAre("commit 8"));
  script.Free(1, 80, 0.8);
  EXPECT_THAT(script.Applied(), ElementsAre("open 9", "place 0 x4", "assign 0 step 9 row 0",
                                            "place 1 x4", "assign 1 step 9 row 1"));
  EXPECT_EQ(script.decoder().code().stragglers, 1u);
  EXPECT_THAT(script.Arrive(1, 1), ElementsAre("commit 9", "cancel 0 step 9"));
}

TEST(CodedAbsence, TheJobEndsWhenNobodyIsLeftAndSaysWhy) {
  SchedulerOptions options = Options(2);
  options.return_timeout = Duration::zero();
  Steady steady(options, {100, 100});
  steady.script.Lost(0);
  EXPECT_THAT(steady.script.Lost(1), ElementsAre("end unavailable"));
  EXPECT_THAT(steady.script.end_status().message(), HasSubstr("no worker is left at step 8"));
  ASSERT_TRUE(steady.script.end_last());
  EXPECT_EQ(steady.script.end_last()->why.ToString(), "connection reset");
}

TEST(CodedAbsence, TheLastStepIsFinishedEvenIfAllDieWhileItIsApplied) {
  SchedulerOptions options = Options(1);
  options.steps = 1;
  Script script(options);
  script.Start({100});
  EXPECT_THAT(script.Arrive(0, 0), ElementsAre("commit 0"));
  EXPECT_THAT(script.Lost(0), IsEmpty());
  EXPECT_THAT(script.Applied(), ElementsAre("end ok"));
}

TEST(CodedAbsence, ANewLifeOfAWorkerHoldsNothing) {
  Steady steady(Options(2), {100, 100});
  Script& script = steady.script;
  EXPECT_THAT(script.Join(1, 1), IsEmpty()) << "the same life again is nothing new";
  EXPECT_THAT(script.Join(1, 2), IsEmpty());
  EXPECT_THAT(Only<notice::StartedAgain>(script.notices()), ElementsAre(notice::StartedAgain{1}));
  EXPECT_THAT(script.Ready(1, 100), ElementsAre("place 1 x6", "assign 1 step 8 row 1"));
  EXPECT_EQ(script.Stats().workers[1].placed_partitions, 12u);
  EXPECT_FALSE(script.Stats().workers[1].lost);
}

TEST(CodedAbsence, ALongSilentWorkerIsLeftOutUntilItSpeaks) {
  Steady steady(Options(2), {100, 100});
  Script& script = steady.script;
  for (int i = 0; i < 3; ++i) {
    script.Advance(0.6);
    script.Arrive(0, 0);
    script.Free(0, 60, 0.6);
    if (i == 0) script.TickAtDeadline();  // Later the absence is known from the start.
    script.Advance(0.6);
    EXPECT_THAT(script.Arrive(0, 1), testing::Contains(testing::StartsWith("commit")));
    script.Free(0, 60, 0.6);
    EXPECT_EQ(script.decoder().code().rows.size(), 2u);
    script.Applied();
  }
  EXPECT_EQ(script.step(), 11u);
  EXPECT_EQ(script.decoder().code().rows.size(), 1u) << "planned without worker 1";
  const std::vector<notice::Silent> silent = Only<notice::Silent>(script.notices());
  ASSERT_THAT(silent, SizeIs(1));
  EXPECT_EQ(silent[0].worker, 1u);
  EXPECT_EQ(script.Stats().workers[1].late, 3u);
  EXPECT_FALSE(script.Stats().workers[1].lost);
  EXPECT_THAT(script.Free(1, 60, 5), IsEmpty());
  EXPECT_THAT(Only<notice::AnswersAgain>(script.notices()), ElementsAre(notice::AnswersAgain{1}));
  script.WholeStep({100, 100});
  EXPECT_EQ(script.decoder().code().rows.size(), 2u);
}

// The worker's silence showed nothing about its speed.
TEST(CodedAbsence, OneThatIsBackFromSilenceHasItsOldShare) {
  Steady steady(Options(2), {100, 100});
  Script& script = steady.script;
  // Worker 0 gets the other's data first: in a step in which data are sent, lateness proves
  // nothing.
  script.Advance(0.6);
  script.Arrive(0, 0);
  script.Free(0, 60, 0.6);
  ASSERT_THAT(script.TickAtDeadline(), ElementsAre("place 0 x6", "assign 0 step 8 row 1"));
  script.Arrive(1, 1);
  script.Free(1, 60, 0.6);
  script.Free(0);
  script.Applied();
  steady.Step();
  for (int i = 0; i < 3; ++i) {
    script.Advance(0.6);
    script.Arrive(0, 0);
    script.Free(0, 60, 0.6);
    if (i == 0) script.TickAtDeadline();
    script.Advance(0.6);
    script.Arrive(0, 1);
    script.Free(0, 60, 0.6);
    script.Applied();
  }
  ASSERT_EQ(script.decoder().code().rows.size(), 1u) << "planned without worker 1";
  script.Free(1);  // This message contains no measurement.
  ASSERT_THAT(Only<notice::AnswersAgain>(script.notices()), ElementsAre(notice::AnswersAgain{1}));
  script.Advance(1.2);
  script.Arrive(0, 0);
  script.Free(0, 120, 1.2);
  script.Applied();
  ASSERT_EQ(script.decoder().code().rows.size(), 2u);
  EXPECT_NEAR(script.Stats().workers[1].share, 0.5, 1e-9);
}

TEST(CodedAbsence, ASlowWorkerThatTellsItsProgressIsNotLeftOutAsSilent) {
  Steady steady(Options(2), {100, 100});
  Script& script = steady.script;
  for (int i = 0; i < 5; ++i) {
    script.Advance(0.6);
    script.Arrive(0, 0);
    script.Free(0, 60, 0.6);
    EXPECT_THAT(script.Progress(1), IsEmpty());
    while (script.decoder().Decodable() == false) {
      script.TickAtDeadline();
      script.Arrive(0, 1);
    }
    script.Free(0, 60, 0.6);
    EXPECT_EQ(script.decoder().code().rows.size(), 2u) << "step " << script.step();
    script.Applied();
  }
  EXPECT_THAT(Only<notice::Silent>(script.notices()), IsEmpty());
}

TEST(CodedAbsence, RefusedAnswersOfAnEarlierLifeAreNotHeldAgainstANewOne) {
  Steady steady(Options(2), {100, 100});
  Script& script = steady.script;
  for (int life = 2; life < 4; ++life) {
    for (int i = 0; i < 2; ++i) {
      EXPECT_THAT(script.Reject(1, 1, false), testing::Not(testing::Contains("drop 1")));
      script.Free(1, 60, 0.6);
      script.Arrive(0, 0);
      script.Free(0, 60, 0.6);
      script.Arrive(0, 1);
      script.Free(0, 60, 0.6);
      script.Applied();
    }
    script.Join(1, life);
    script.Ready(1, 100);
    steady.Step();
  }
  EXPECT_EQ(script.Stats().workers[1].rejected, 4u) << "the statistic goes on";
  EXPECT_THAT(Only<notice::SentAway>(script.notices()), IsEmpty());
}

TEST(CodedAbsence, ARefusedAnswerIsComputedBySomebodyElse) {
  Steady steady(Options(2), {100, 100});
  Script& script = steady.script;
  EXPECT_THAT(script.Reject(1, 1, false), IsEmpty());
  EXPECT_THAT(script.Free(1, 60, 0.6), IsEmpty()) << "not the one whose answer was refused";
  script.Arrive(0, 0);
  EXPECT_THAT(script.Free(0, 60, 0.6), ElementsAre("place 0 x6", "assign 0 step 8 row 1"));
  EXPECT_THAT(script.Arrive(0, 1), ElementsAre("commit 8"));
  EXPECT_EQ(script.Stats().workers[1].rejected, 1u);
  const std::vector<notice::Refused> refused = Only<notice::Refused>(script.notices());
  ASSERT_THAT(refused, SizeIs(1));
  EXPECT_EQ(refused[0].worker, 1u);
  EXPECT_EQ(refused[0].why.ToString(), "not finite");
}

TEST(CodedAbsence, AnAnswerInsideTheSumsRestartsTheStep) {
  Steady steady(Options(3), {100, 100, 100});
  Script& script = steady.script;
  script.Arrive(0, 0);
  script.Free(0, 40, 0.4);
  EXPECT_THAT(script.Reject(1, 1, true),
              ElementsAre("cancel 2 step 8", "open 8", "assign 0 step 8 row 0"));
  EXPECT_THAT(script.Free(1, 40, 0.4), IsEmpty());
  EXPECT_THAT(script.Free(2, 10, 0.1), ElementsAre("assign 2 step 8 row 2"));
  script.Arrive(2, 2);
  EXPECT_THAT(script.Free(2, 40, 0.4), ElementsAre("place 2 x4", "assign 2 step 8 row 1"));
  script.Arrive(0, 0);
  EXPECT_THAT(script.Arrive(2, 1), ElementsAre("commit 8"));
  EXPECT_EQ(script.Stats().steps_restarted, 1u);
}

TEST(CodedAbsence, ThreeRefusedAnswersSendAWorkerAway) {
  Steady steady(Options(2), {100, 100});
  Script& script = steady.script;
  for (int i = 0; i < 3; ++i) {
    const Script::Lines lines = script.Reject(1, 1, false);
    EXPECT_EQ(lines, i == 2 ? Script::Lines{"drop 1"} : Script::Lines{}) << i;
    script.Arrive(0, 0);
    script.Free(1, 60, 0.6);
    script.Free(0, 60, 0.6);
    script.Arrive(0, 1);
    script.Free(0, 60, 0.6);
    script.Applied();
  }
  const std::vector<notice::SentAway> away = Only<notice::SentAway>(script.notices());
  ASSERT_THAT(away, SizeIs(1));
  EXPECT_EQ(away[0].worker, 1u);
  EXPECT_EQ(away[0].refused, 3u);
  EXPECT_TRUE(script.Stats().workers[1].lost);
  EXPECT_THAT(script.Lost(1), IsEmpty()) << "that it then leaves is no news";
  EXPECT_EQ(script.decoder().code().rows.size(), 1u);
}

TEST(CodedAbsence, AllWorkersRefusedInOneStepMeanThatTrainingDiverged) {
  Steady steady(Options(3), {100, 100, 100});
  Script& script = steady.script;
  script.Reject(0, 0, false);
  script.Reject(2, 2, false);
  EXPECT_THAT(script.Reject(1, 1, false), ElementsAre("end data error"));
  EXPECT_THAT(script.end_status().message(), HasSubstr("the training diverged at step 8"));
  EXPECT_THAT(script.end_status().message(),
              HasSubstr("lower `learning_rate`, limit the gradients with `clip`"));
}

TEST(CodedAbsence, MostWorkersRefusedAreNoDivergenceWhileOneAnswersWell) {
  Steady steady(Options(3), {100, 100, 100});
  Script& script = steady.script;
  script.Reject(0, 0, false);
  EXPECT_THAT(script.Reject(2, 2, false), testing::Not(testing::Contains("end data error")));
  EXPECT_THAT(script.Arrive(1, 1), testing::Not(testing::Contains("end data error")));
}

TEST(CodedAbsence, TwoBadWorkersAmongManyAreNoDivergence) {
  SchedulerOptions options = Options(5, "rs");
  options.tolerate = 2;
  Steady steady(options, {100, 100, 100, 100, 100});
  Script& script = steady.script;
  script.Reject(0, 0, false);
  EXPECT_THAT(script.Reject(1, 1, false), IsEmpty());
  script.Arrive(2, 2);
  script.Arrive(3, 3);
  EXPECT_THAT(script.Arrive(4, 4), ElementsAre("commit 8"));
  script.Applied();
  EXPECT_EQ(script.step(), 9u);
}

TEST(CodedAbsence, RefusalsInDifferentStepsAreNoDivergence) {
  Steady steady(Options(3), {100, 100, 100});
  steady.script.Reject(0, 0, true);
  steady.script.Free(0);
  steady.script.Free(1);
  steady.script.Free(2);
  for (const auto& [worker, row] : {std::pair<WorkerId, RowId>{1, 1}, {2, 2}}) {
    steady.script.Arrive(worker, row);
    steady.script.Free(worker);
  }
  steady.script.Arrive(1, 0);
  steady.script.Free(1);
  steady.script.Applied();
  EXPECT_EQ(steady.script.step(), 9u);
  EXPECT_THAT(steady.script.Reject(2, 2, true), testing::Not(testing::Contains("end data error")));
}

TEST(CodedAbsence, TheOnlyWorkerMayTryAgainBeforeDivergenceIsCalled) {
  Steady steady(Options(1), {100});
  Script& script = steady.script;
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(script.Reject(0, 0, false), IsEmpty());
    EXPECT_THAT(script.Free(0, 120, 1.2), ElementsAre("assign 0 step 8 row 0"));
  }
  EXPECT_THAT(script.Reject(0, 0, false), ElementsAre("end data error"));
}

TEST(CodedAbsence, OneWhoseAnswerWasRefusedTriesAgainWhenTheOthersAreSilent) {
  Steady steady(Options(2), {100, 100});
  Script& script = steady.script;
  script.Reject(0, 0, false);
  EXPECT_THAT(script.Free(0, 60, 0.6), IsEmpty()) << "worker 1 may still do it";
  EXPECT_THAT(script.TickAtDeadline(), ElementsAre("assign 0 step 8 row 0"));
  script.Arrive(0, 0);
  EXPECT_THAT(script.Free(0, 60, 0.6), ElementsAre("place 0 x6", "assign 0 step 8 row 1"));
  EXPECT_THAT(script.Arrive(0, 1), ElementsAre("cancel 1 step 8", "commit 8"));
}

TEST(CodedAbsence, AbsentRowsAreJudgedByTheCodeOfTheStepThatOpens) {
  // The plan shrinks from three rows to two while worker 1 is known to be silent.
  Steady steady(Options(3, "rs"), {100, 100, 100});
  Script& script = steady.script;
  script.Lost(2);
  script.Arrive(0, 0);
  script.Free(0, 80, 0.8);
  script.TickAtDeadline();
  script.Advance(3);
  EXPECT_THAT(script.Arrive(0, 1), ElementsAre("cancel 1 step 8", "commit 8"));
  script.Free(0, 80, 0.8);
  EXPECT_THAT(script.Applied(), ElementsAre("open 9", "assign 0 step 9 row 0"));
  EXPECT_GT(script.SecondsToDeadline(), 0) << "one of two rows is enough";
  EXPECT_THAT(script.TickNow(), IsEmpty());
  EXPECT_THAT(script.Arrive(0, 0), ElementsAre("commit 9"));
}

TEST(CodedAbsence, AnswersThatDoNotDecodeAreDoneAgainWithoutACode) {
  Steady steady(Options(2, "rs"), {100, 100});
  Script& script = steady.script;
  const StepId step = script.step();
  script.Send(RowArrived{0, step, 0});
  script.Free(0, 120, 1.2);
  script.Send(RowArrived{1, step, 1});
  script.Free(1, 120, 1.2);
  EXPECT_THAT(script.TickAtDeadline(),
              ElementsAre("open 8", "assign 0 step 8 row 0", "assign 1 step 8 row 1"));
  EXPECT_EQ(script.decoder().code().name, "none");
  EXPECT_THAT(Only<notice::NotDecodable>(script.notices()), ElementsAre(notice::NotDecodable{8}));
  script.Arrive(0, 0);
  EXPECT_THAT(script.Arrive(1, 1), ElementsAre("commit 8"));
}

}  // namespace
}  // namespace motley
