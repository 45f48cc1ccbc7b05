// SPDX-License-Identifier: Apache-2.0
// What the user is told while nothing comes, and for whom the start does not wait.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scheduler/script.h"

namespace motley {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

SchedulerOptions Options(uint32_t workers, const std::string& code = "none") {
  SchedulerOptions options;
  options.workers = workers;
  options.partitions = 12;
  options.code = code;
  options.batch = 120;
  options.steps = 30;
  return options;
}

size_t Lines(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

constexpr char kSilence[] = "no worker has answered for";

// Through the first steps, so that it is known what is normal.
void Warm(Script& script, const std::vector<double>& speeds) {
  script.Start(speeds);
  for (int step = 0; step < 12; ++step) script.WholeStep(speeds);
}

TEST(CodedWait, SilenceOfAllIsToldAfterFiveSecondsAndThenMoreAndMoreRarely) {
  for (const char* code : {"none", "rs"}) {
    Script script(Options(3, code));
    Warm(script, {100, 100, 100});
    script.PassTime(4.9);
    EXPECT_THAT(script.notices(), Not(HasSubstr(kSilence))) << code;
    script.PassTime(0.2);
    EXPECT_THAT(script.notices(), HasSubstr("no worker has answered for 5 s; waiting (step 12)\n"))
        << code;
    script.PassTime(3594.9);
    // At 5, 10, 20, ... 2560 s.
    EXPECT_EQ(Lines(script.notices(), kSilence), 10u) << code << "\n" << script.notices();
    EXPECT_THAT(script.notices(), HasSubstr("for 2560 s; waiting (step 12)\n")) << code;
  }
}

TEST(CodedWait, OneWordEndsTheSilenceOfAll) {
  Script script(Options(3));
  Warm(script, {100, 100, 100});
  for (int i = 0; i < 10; ++i) {
    script.PassTime(4);
    script.Progress(1);
  }
  EXPECT_THAT(script.notices(), Not(HasSubstr(kSilence)));
  script.PassTime(11);
  EXPECT_EQ(Lines(script.notices(), kSilence), 2u);
  script.Progress(2);
  script.PassTime(6);
  EXPECT_EQ(Lines(script.notices(), "no worker has answered for 5 s"), 2u);
}

TEST(CodedWait, SlowAnswersThatAreNormalAreNoSilence) {
  Script script(Options(2));
  Warm(script, {1, 1});  // 60 s per step.
  script.PassTime(59);
  EXPECT_THAT(script.notices(), Not(HasSubstr(kSilence)));
  script.PassTime(120);
  EXPECT_THAT(script.notices(), HasSubstr(kSilence));
}

TEST(CodedWait, AStepThatTakesLongIsToldAndWhoIsAwaited) {
  Script script(Options(3));
  Warm(script, {100, 100, 100});  // 0.4 s per step.
  script.PassTime(7.9);
  EXPECT_THAT(script.notices(), Not(HasSubstr("has taken")));
  script.PassTime(0.2);
  EXPECT_THAT(script.notices(), HasSubstr("step 12 has taken 8.0 s, 20 times as long as is usual; "
                                          "waiting for workers 0, 1, 2\n"));
  script.PassTime(60);
  EXPECT_EQ(Lines(script.notices(), "step 12 has taken"), 4u) << "at 8, 16, 32 and 64 s";
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
  EXPECT_EQ(script.notices(),
            "waiting for workers 1, 3 to join and worker 2 to get ready, at most 25 s more\n");
  script.PassTime(20);
  EXPECT_EQ(Lines(script.notices(), "waiting for"), 3u) << "at 5, 10 and 20 s";
}

TEST(CodedWait, TheStartDoesNotWaitForOneThatWillNotCome) {
  Script script(Options(3));
  script.Join(0);
  script.Ready(0, 100);
  script.Join(2);
  script.Ready(2, 100);
  EXPECT_THAT(script.Send(WorkerNotComing{1}), Contains("open 0"));
  EXPECT_THAT(script.notices(), HasSubstr("starting with 2 of 3 workers; missing: worker 1"));
}

TEST(CodedWait, TheRestIsStillAwaitedAndTheAbsentOneNotNamed) {
  Script script(Options(3));
  EXPECT_THAT(script.Send(WorkerNotComing{1}), IsEmpty());
  script.Join(0);
  EXPECT_THAT(script.Ready(0, 100), IsEmpty());
  script.PassTime(5);
  EXPECT_EQ(script.notices(), "waiting for worker 2 to join, at most 25 s more\n");
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

// The first to come back waits for the others, and may be lost again meanwhile.
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

// Other deadlines of the start may pass while the first to come back waits for the others.
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
