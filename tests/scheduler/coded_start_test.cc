// SPDX-License-Identifier: Apache-2.0
// Tests how a job starts, goes through its steps and ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/job_scheduler.h"
#include "scheduler/membership.h"
#include "tests/scheduler/script.h"

namespace motley {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

SchedulerOptions Options(uint32_t workers, const std::string& code = "none") {
  SchedulerOptions options;
  options.workers = workers;
  options.partitions = 12;
  options.code = code;
  options.tolerate = 1;
  options.batch = 120;
  options.steps = 3;
  return options;
}

Status MakeError(const SchedulerOptions& options) {
  const auto made = JobScheduler::Make(options);
  EXPECT_FALSE(made.ok());
  EXPECT_EQ(made.code(), StatusCode::kInvalidArgument);
  return made.status();
}

TEST(CodedStart, OptionsThatCannotWorkSayWhatToChange) {
  SchedulerOptions options = Options(4, "rs");
  options.tolerate = 4;
  EXPECT_THAT(MakeError(options).message(), HasSubstr("tolerate at most 3"));
  options = Options(4);
  options.partitions = 3;
  EXPECT_THAT(MakeError(options).message(),
              HasSubstr("4 workers, and the samples are cut into 3 partitions"));
  options = Options(0);
  EXPECT_THAT(MakeError(options).message(), HasSubstr("at least one worker"));
  options = Options(2);
  options.steps = 0;
  EXPECT_THAT(MakeError(options).message(), HasSubstr("at least one step"));
  options = Options(2);
  options.batch = 0;
  EXPECT_THAT(MakeError(options).message(), HasSubstr("batch"));
  options = Options(2);
  options.start_timeout = Duration::zero();
  EXPECT_THAT(MakeError(options).message(), HasSubstr("start timeout"));
  EXPECT_EQ(JobScheduler::Make(Options(2, "magic")).code(), StatusCode::kNotFound);
}

TEST(CodedStart, GoesOnFromTheFirstStepOfThisRunAndStillWaitsForEverybody) {
  SchedulerOptions options = Options(2);
  options.first_step = 2;
  Script script(options);
  script.Join(0);
  EXPECT_THAT(script.Ready(0, 100), IsEmpty());
  script.Join(1);
  EXPECT_THAT(script.Ready(1, 100), ElementsAre("open 2", "place 0 x6", "assign 0 step 2 row 0",
                                                "place 1 x6", "assign 1 step 2 row 1"));
  script.Arrive(0, 0);
  EXPECT_THAT(script.Arrive(1, 1), ElementsAre("commit 2"));
  EXPECT_THAT(script.Applied(), ElementsAre("end ok"));
  EXPECT_EQ(script.Stats().steps_committed, 1u);
}

TEST(CodedStart, AJobThatIsDoneEndsWhenItsWorkersAreThere) {
  SchedulerOptions options = Options(1);
  options.first_step = options.steps;
  Script script(options);
  script.Join(0);
  EXPECT_THAT(script.Ready(0, 100), ElementsAre("end ok"));
  options.first_step = options.steps + 1;
  EXPECT_THAT(MakeError(options).message(), HasSubstr("a job of 3 steps"));
}

TEST(CodedStart, WaitsForEveryWorkerToBeReady) {
  Script script(Options(3));
  EXPECT_THAT(script.Join(0), IsEmpty());
  EXPECT_THAT(script.Ready(0, 100), IsEmpty());
  EXPECT_THAT(script.Join(1), IsEmpty());
  EXPECT_THAT(script.Join(2), IsEmpty());
  EXPECT_THAT(script.Ready(2, 100), IsEmpty());
  EXPECT_THAT(script.Ready(1, 200),
              ElementsAre("open 0", "place 0 x3", "assign 0 step 0 row 0", "place 1 x6",
                          "assign 1 step 0 row 1", "place 2 x3", "assign 2 step 0 row 2"));
}

TEST(CodedStart, EqualSharesAreEqualWhateverTheSpeeds) {
  SchedulerOptions options = Options(3);
  options.shares = Shares::kEqual;
  Script script(options);
  EXPECT_THAT(script.Start({100, 900, 1}),
              ElementsAre("open 0", "place 0 x4", "assign 0 step 0 row 0", "place 1 x4",
                          "assign 1 step 0 row 1", "place 2 x4", "assign 2 step 0 row 2"));
}

TEST(CodedStart, TheTimeoutIsKnownFromTheFirstEventOn) {
  Script script(Options(2));
  EXPECT_LE(script.SecondsToDeadline(), 0) << "asks for a tick, to learn the time";
  EXPECT_THAT(script.TickNow(), IsEmpty());
  EXPECT_THAT(script.PassTime(29.9), IsEmpty());
  EXPECT_NEAR(script.SecondsToDeadline(), 0.1, 1e-9);
}

TEST(CodedStart, GoesOnWithThoseWhoCameAndNamesTheMissing) {
  Script script(Options(3));
  script.Join(0);
  script.Join(1);
  script.Ready(1, 100);
  script.Ready(0, 100);
  EXPECT_THAT(script.PassTime(30), ElementsAre("open 0", "place 0 x6", "assign 0 step 0 row 0",
                                               "place 1 x6", "assign 1 step 0 row 1"));
  EXPECT_THAT(Only<notice::Starting>(script.notices()),
              ElementsAre(notice::Starting{2, 3, {2}, /*may_follow=*/false}));
}

SchedulerOptions Elastic(uint32_t least, uint32_t most, double gather_seconds) {
  SchedulerOptions options = Options(most);
  options.least_workers = least;
  options.gather_time = FromSeconds(gather_seconds);
  return options;
}

TEST(CodedStart, AnElasticJobBeginsWithTheLeastAfterAShortTime) {
  Script script(Elastic(1, 3, 5));
  script.Join(0);
  EXPECT_THAT(script.PassTime(7), IsEmpty()) << "the time begins when one is ready";
  EXPECT_THAT(script.Ready(0, 100), IsEmpty());
  EXPECT_THAT(Only<notice::BeginsSoon>(script.notices()),
              ElementsAre(notice::BeginsSoon{1, 3, std::chrono::seconds(5)}));
  EXPECT_THAT(script.PassTime(4.9), IsEmpty());
  EXPECT_THAT(script.PassTime(0.2), Contains("open 0"));
  EXPECT_THAT(Only<notice::Starting>(script.notices()),
              ElementsAre(notice::Starting{1, 3, {1, 2}, /*may_follow=*/true}));
}

TEST(CodedStart, AnElasticJobBeginsAtOnceWhenAllAreThereOrNobodyIsToBeAwaited) {
  Script all(Elastic(1, 2, 5));
  all.Join(0);
  all.Join(1);
  all.Ready(0, 100);
  EXPECT_THAT(all.Ready(1, 100), Contains("open 0"));
  Script at_once(Elastic(1, 2, 0));
  at_once.Join(0);
  EXPECT_THAT(at_once.Ready(0, 100), Contains("open 0"));
}

TEST(CodedStart, AnElasticJobWaitsForTheLeastAnewWhenOneOfThemGoes) {
  Script script(Elastic(2, 3, 5));
  script.Join(0);
  script.Join(1);
  script.Ready(0, 100);
  script.Ready(1, 100);
  script.PassTime(4);
  script.Lost(1);
  EXPECT_THAT(script.PassTime(10), IsEmpty());
  script.Join(1, 2);
  script.Ready(1, 100);
  EXPECT_THAT(script.PassTime(4.9), IsEmpty());
  EXPECT_THAT(script.PassTime(0.2), Contains("open 0"));
}

TEST(CodedStart, AnElasticJobThatNeverHasTheLeastEnds) {
  Script script(Elastic(2, 3, 5));
  script.Join(0);
  script.Ready(0, 100);
  EXPECT_THAT(Only<notice::FewReady>(script.notices()), ElementsAre(notice::FewReady{1, 2}));
  EXPECT_THAT(script.PassTime(12), IsEmpty());
  const std::vector<notice::Waiting> waiting = Only<notice::Waiting>(script.notices());
  ASSERT_FALSE(waiting.empty());
  EXPECT_EQ(waiting.back().more, 1u);
  EXPECT_THAT(waiting.back().absent, IsEmpty());
  EXPECT_THAT(script.PassTime(30), ElementsAre("end unavailable"));
  EXPECT_THAT(script.end_status().message(),
              HasSubstr("1 worker ready, and it needs 2; start more, or ask for fewer"));
}

TEST(CodedStart, WhoComesBeyondTheStartGetsAShare) {
  Script script(Elastic(1, 3, 0));
  script.Join(0);
  script.Ready(0, 100);
  script.Join(2);
  script.Ready(2, 100);
  EXPECT_THAT(Only<notice::Ready>(script.notices()), ElementsAre(notice::Ready{2}));
  script.Arrive(0, 0);
  script.Free(0, 12, 0.1);
  EXPECT_THAT(script.Applied(), Contains("assign 2 step 1 row 1"));
  EXPECT_TRUE(script.Stats().workers[2].joined);
}

TEST(CodedStart, WhoLeavesIsNotLostAndItsWorkGoesToOthersAtOnce) {
  Script script(Options(2));
  script.Start({100, 100});
  script.Send(WorkerLost{1, Status::Cancelled("it left")});
  script.Arrive(0, 0);
  EXPECT_THAT(script.Free(0, 60, 0.6), Contains("assign 0 step 0 row 1"));
  EXPECT_THAT(Only<notice::Left>(script.notices()), ElementsAre(notice::Left{1, 1}));
  EXPECT_FALSE(script.Stats().workers[1].lost);
  EXPECT_TRUE(script.Stats().workers[1].left);
  script.Join(1, 2);
  EXPECT_FALSE(script.Stats().workers[1].left);
}

TEST(CodedStart, NobodyThereEndsTheJobAndSaysWhatToCheck) {
  Script script(Options(2));
  script.TickNow();
  EXPECT_THAT(script.PassTime(30), ElementsAre("end unavailable"));
  EXPECT_THAT(script.end_status().message(), HasSubstr("check that they run"));
  EXPECT_FALSE(script.HasDeadline());
  EXPECT_THAT(script.Join(0), IsEmpty()) << "an ended job does nothing more";
}

TEST(CodedStart, WorkersThatAreStillMeasuringGetOneMoreTimeout) {
  Script script(Options(2));
  script.Join(0);
  EXPECT_THAT(script.PassTime(59), IsEmpty());
  EXPECT_THAT(Only<notice::WaitsAgain>(script.notices()),
              ElementsAre(notice::WaitsAgain{1, /*some_ready=*/false}));
  EXPECT_THAT(script.Ready(0, 100), ElementsAre("open 0", "place 0 x12", "assign 0 step 0 row 0"));

  Script stuck(Options(2));
  stuck.Join(0);
  EXPECT_THAT(stuck.PassTime(60), ElementsAre("end unavailable"));
}

TEST(CodedStart, AWorkerLostBeforeTheStartMayComeBack) {
  Script script(Options(1));
  script.Join(0);
  EXPECT_THAT(script.Lost(0), IsEmpty());
  EXPECT_THAT(script.Ready(0, 100), IsEmpty()) << "words of the lost do not count";
  script.Join(0, 2);
  EXPECT_THAT(script.Ready(0, 100), ElementsAre("open 0", "place 0 x12", "assign 0 step 0 row 0"));
}

TEST(CodedStart, StepsFollowEachOtherAndPlaceDataOnce) {
  Script script(Options(2));
  script.Start({100, 100});
  EXPECT_THAT(script.Arrive(0, 0), IsEmpty());
  EXPECT_THAT(script.Free(0, 60, 0.6), IsEmpty());
  EXPECT_THAT(script.Arrive(1, 1), ElementsAre("commit 0"));
  EXPECT_THAT(script.Free(1, 60, 0.6), IsEmpty());
  EXPECT_THAT(script.Applied(),
              ElementsAre("open 1", "assign 0 step 1 row 0", "assign 1 step 1 row 1"));
  EXPECT_THAT(script.WholeStep({100, 100}),
              ElementsAre("open 2", "assign 0 step 2 row 0", "assign 1 step 2 row 1"));
  EXPECT_THAT(script.WholeStep({100, 100}), ElementsAre("end ok"));
  const SchedulerStats stats = script.Stats();
  EXPECT_EQ(stats.steps_committed, 3u);
  EXPECT_EQ(stats.replans, 0u);
  for (const WorkerStats& worker : stats.workers) {
    EXPECT_EQ(worker.steps_in_time, 3u);
    EXPECT_EQ(worker.samples, 180u);
    EXPECT_EQ(worker.late, 0u);
    EXPECT_EQ(worker.placed_partitions, 6u);
    EXPECT_DOUBLE_EQ(worker.share, 0.5);
    EXPECT_NEAR(worker.speed, 100, 1e-6);
    EXPECT_TRUE(worker.joined);
    EXPECT_FALSE(worker.lost);
  }
}

TEST(CodedStart, AStepEndsAsSoonAsItDecodesAndTheRestIsCancelled) {
  Script script(Options(3, "rs"));
  script.Start({100, 100, 100});
  EXPECT_THAT(script.Arrive(2, 2), IsEmpty());
  EXPECT_THAT(script.Arrive(0, 0), ElementsAre("commit 0", "cancel 1 step 0"));
  EXPECT_EQ(script.Stats().workers[1].late, 1u);
}

TEST(CodedStart, AWorkerThatIsStillBusyGetsItsRowWhenItIsFree) {
  Script script(Options(3, "rs"));
  script.Start({100, 100, 100});
  script.Arrive(0, 0);
  script.Free(0);
  script.Arrive(1, 1);
  script.Free(1);
  EXPECT_THAT(script.Applied(),
              ElementsAre("open 1", "assign 0 step 1 row 0", "assign 1 step 1 row 1"));
  EXPECT_THAT(script.Free(2, 10, 0.1), ElementsAre("assign 2 step 1 row 2"));
  EXPECT_THAT(script.Free(2), IsEmpty()) << "once is enough";
}

TEST(CodedStart, EventsOfOtherStepsChangeOnlyCounters) {
  Script script(Options(2));
  script.Start({100, 100});
  EXPECT_THAT(script.Send(RowArrived{0, 7, 0}), IsEmpty());
  EXPECT_THAT(script.Send(RowArrived{0, 0, 99}), IsEmpty());
  EXPECT_THAT(script.Send(StepDecodable{1}), IsEmpty());
  EXPECT_THAT(script.Send(StepApplied{0}), IsEmpty()) << "it was never committed";
  EXPECT_THAT(script.Send(RowLate{0, 7}), IsEmpty());
  EXPECT_THAT(script.Send(RowRejected{0, 7, 0, true, Status::DataError("x")}), IsEmpty());
  EXPECT_THAT(script.Send(RowArrived{55, 0, 0}), IsEmpty());
  EXPECT_THAT(script.Send(WorkerLost{55, Status::Internal("x")}), IsEmpty());
  EXPECT_EQ(script.Stats().workers[0].steps_in_time, 0u);
  EXPECT_EQ(script.Stats().workers[0].late, 0u);
  EXPECT_EQ(script.Stats().workers[0].rejected, 1u);
}

TEST(CodedStart, ALateAnswerIsCountedOnce) {
  Script script(Options(3, "rs"));
  script.Start({100, 100, 100});
  script.Arrive(0, 0);
  script.Arrive(1, 1);
  EXPECT_EQ(script.Stats().workers[2].late, 1u);
  script.Send(RowLate{2, 0});
  EXPECT_EQ(script.Stats().workers[2].late, 1u);
}

TEST(CodedStart, AWorkerThatJoinsLaterGetsAShareOfTheNextStep) {
  Script script(Options(2));
  script.Start({100, 100});
  script.Join(2);
  EXPECT_THAT(script.Ready(2, 100), IsEmpty());
  EXPECT_THAT(script.WholeStep({100, 100, 100}),
              ElementsAre("open 1", "assign 0 step 1 row 0", "assign 1 step 1 row 1", "place 2 x4",
                          "assign 2 step 1 row 2"));
  EXPECT_THAT(Only<notice::Ready>(script.notices()), ElementsAre(notice::Ready{2}));
  EXPECT_EQ(script.Stats().replans, 1u);
}

}  // namespace
}  // namespace motley
