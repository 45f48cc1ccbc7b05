// SPDX-License-Identifier: Apache-2.0
// Tests the notices during silence, and the workers that the start does not wait for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scheduler/script.h"

namespace motley {
namespace {

using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

SchedulerOptions Options(uint32_t workers, const std::string& code = "none") {
  SchedulerOptions options;
  options.workers = workers;
  options.partitions = 12;
  options.code = code;
  options.batch = 120;
  options.steps = 30;
  return options;
}

using Silences = std::vector<notice::AllSilent>;
Silences SilencesIn(const Script& script) { return Only<notice::AllSilent>(script.notices()); }

// Runs the first steps, so that normal times are known.
void Warm(Script& script, const std::vector<double>& speeds) {
  script.Start(speeds);
  for (int step = 0; step < 12; ++step) script.WholeStep(speeds);
}

TEST(CodedWait, SilenceOfAllIsToldAfterFiveSecondsAndThenMoreAndMoreRarely) {
  for (const char* code : {"none", "rs"}) {
    Script script(Options(3, code));
    Warm(script, {100, 100, 100});
    script.PassTime(4.9);
    EXPECT_THAT(SilencesIn(script), IsEmpty()) << code;
    script.PassTime(0.2);
    EXPECT_EQ(SilencesIn(script), (Silences{{12, seconds(5)}})) << code;
    script.PassTime(3594.9);
    ASSERT_THAT(SilencesIn(script), SizeIs(10)) << code << ": at 5, 10, 20, ... 2560 s";
    EXPECT_EQ(SilencesIn(script).back(), (notice::AllSilent{12, seconds(2560)})) << code;
  }
}

TEST(CodedWait, OneWordEndsTheSilenceOfAll) {
  Script script(Options(3));
  Warm(script, {100, 100, 100});
  for (int i = 0; i < 10; ++i) {
    script.PassTime(4);
    script.Progress(1);
  }
  EXPECT_THAT(SilencesIn(script), IsEmpty());
  script.PassTime(11);
  EXPECT_THAT(SilencesIn(script), SizeIs(2));
  script.Progress(2);
  script.PassTime(6);
  ASSERT_THAT(SilencesIn(script), SizeIs(3));
  EXPECT_EQ(SilencesIn(script).back(), (notice::AllSilent{12, seconds(5)}));
}

TEST(CodedWait, SlowAnswersThatAreNormalAreNoSilence) {
  Script script(Options(2));
  Warm(script, {1, 1});  // 60 s per step.
  script.PassTime(59);
  EXPECT_THAT(SilencesIn(script), IsEmpty());
  script.PassTime(120);
  EXPECT_THAT(SilencesIn(script), Not(IsEmpty()));
}

TEST(CodedWait, AStepThatTakesLongIsToldAndWhoIsAwaited) {
  Script script(Options(3));
  Warm(script, {100, 100, 100});  // 0.4 s per step.
  script.PassTime(7.9);
  EXPECT_THAT(Only<notice::LongStep>(script.notices()), IsEmpty());
  script.PassTime(0.2);
  std::vector<notice::LongStep> reported = Only<notice::LongStep>(script.notices());
  ASSERT_THAT(reported, SizeIs(1));
  EXPECT_EQ(reported[0].step, 12u);
  EXPECT_NEAR(ToSeconds(reported[0].taken), 8, 1e-6);
  EXPECT_NEAR(reported[0].times, 20, 1e-6);
  EXPECT_THAT(reported[0].awaited, ElementsAre(0, 1, 2));
  script.PassTime(60);
  reported = Only<notice::LongStep>(script.notices());
  EXPECT_THAT(reported, SizeIs(4)) << "at 8, 16, 32 and 64 s";
}

TEST(CodedWait, TheStartTellsWhomItWaitsFor) {
  Script script(Options(4));
  script.TickNow();
  script.Join(2);
  script.Join(0);
  script.Ready(0, 100);
  script.PassTime(4.9);
  EXPECT_THAT(script.notices(), IsEmpty());
  script.PassTime(0.2);
  EXPECT_THAT(Only<notice::Waiting>(script.notices()),
              ElementsAre(notice::Waiting{{1, 3}, 0, {2}, seconds(25)}));
  script.PassTime(20);
  EXPECT_THAT(Only<notice::Waiting>(script.notices()), SizeIs(3)) << "at 5, 10 and 20 s";
}

TEST(CodedWait, TheStartDoesNotWaitForOneThatWillNotCome) {
  Script script(Options(3));
  script.Join(0);
  script.Ready(0, 100);
  script.Join(2);
  script.Ready(2, 100);
  EXPECT_THAT(script.Send(WorkerNotComing{1}), Contains("open 0"));
  EXPECT_THAT(Only<notice::Starting>(script.notices()),
              ElementsAre(notice::Starting{2, 3, {1}, /*may_follow=*/false}));
}

TEST(CodedWait, TheRestIsStillAwaitedAndTheAbsentOneNotNamed) {
  Script script(Options(3));
  EXPECT_THAT(script.Send(WorkerNotComing{1}), IsEmpty());
  script.Join(0);
  EXPECT_THAT(script.Ready(0, 100), IsEmpty());
  script.PassTime(5);
  EXPECT_THAT(Only<notice::Waiting>(script.notices()),
              ElementsAre(notice::Waiting{{2}, 0, {}, seconds(25)}));
  EXPECT_THAT(script.notices(), SizeIs(1));
  script.Join(2);
  EXPECT_THAT(script.Ready(2, 100), Contains("open 0"));
}

TEST(CodedWait, OneThatJoinedAndNeverGetsReadyIsNotAwaited) {
  Script script(Options(2));
  script.Join(0);
  script.Join(1);
  script.Ready(0, 100);
  EXPECT_THAT(script.Send(WorkerNotComing{1}), Contains("open 0")) << "its connection still stands";
}

TEST(CodedWait, OneThatComesAfterAllIsAwaitedAgain) {
  Script script(Options(2));
  script.Send(WorkerNotComing{1});
  script.Send(WorkerNotComing{77});
  script.Join(1);
  script.Join(0);
  EXPECT_THAT(script.Ready(0, 100), IsEmpty());
  EXPECT_THAT(script.Ready(1, 100), Contains("assign 1 step 0 row 1"));
}

TEST(CodedWait, WithoutAnybodyTheStartWaitsOn) {
  Script script(Options(1));
  EXPECT_THAT(script.Send(WorkerNotComing{0}), IsEmpty());
  script.Join(0);
  EXPECT_THAT(script.Ready(0, 100), Contains("open 0"));
}

// The first worker to come back waits for the others, and may be lost again meanwhile.
TEST(CodedWait, TheWaitForTheOthersEndsWithTheWorkerThatWaits) {
  Script script(Options(2));
  Warm(script, {100, 100});
  script.Lost(0);
  script.Lost(1);
  script.Join(0, 2);
  EXPECT_THAT(script.Ready(0, 100), IsEmpty()) << "the other one may be about to come, too";
  script.Lost(0);
  for (int tick = 0; tick < 5; ++tick) {
    script.TickAtDeadline();
    EXPECT_GT(script.SecondsToDeadline(), 0) << "the clock would run without a pause";
  }
  script.Advance(10);
  script.Join(0, 3);
  EXPECT_THAT(script.Ready(0, 100), IsEmpty()) << "it waits as the first one did";
  EXPECT_THAT(script.PassTime(3), Contains("open 12"));
}

// Other deadlines of the start may pass while the first worker to come back waits for the others.
TEST(CodedWait, TheWaitForTheOthersHasOneDeadline) {
  for (const double late : {9.0, 39.0}) {
    SchedulerOptions options = Options(2);
    options.return_timeout = std::chrono::seconds(40);
    Script script(options);
    Warm(script, {100, 100});
    script.Lost(0);
    script.Lost(1);
    script.PassTime(late);
    script.Join(0, 2);
    EXPECT_THAT(script.Ready(0, 100), IsEmpty());
    EXPECT_NEAR(script.SecondsToDeadline(), 2, 1e-9);
    EXPECT_THAT(script.TickAtDeadline(), Contains("open 12"));
  }
}

}  // namespace
}  // namespace motley
