// SPDX-License-Identifier: Apache-2.0
// Tests leases event by event: the beginning, silence, refusals, losses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/scheduler/script.h"

namespace motley {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

SchedulerOptions Options(uint32_t workers, uint32_t tolerate = 1) {
  SchedulerOptions options;
  options.workers = workers;
  options.partitions = 12;
  options.code = "adaptive";
  options.tolerate = tolerate;
  options.batch = 120;
  options.steps = 30;
  return options;
}

// `workers` workers that take 0.1 s per partition work off a step of equal lists, and open the next
// one.
Script::Lines WholeStep(Script& script, uint32_t workers) {
  const uint32_t entries = 12 / workers;
  const StepId step = script.step();
  for (uint32_t done = 1; done <= entries; ++done) {
    script.Advance(0.1);
    for (WorkerId w = 0; w < workers; ++w) {
      script.Send(LeaseProgress{w, step, done, FromSeconds(0.1 * done)});
      // The answer to the request after its first report ever.
      if (step == 0 && done == 1) script.Send(LeaseReleased{w, step, {}});
    }
    script.TickNow();
  }
  for (WorkerId w = 0; w < workers; ++w) script.Send(LeaseVector{w, step, entries});
  return script.Send(StepApplied{step});
}

// A job in a steady state.
void Warm(Script& script, uint32_t workers) {
  script.Start(std::vector<double>(workers, 100));
  for (int i = 0; i < 6; ++i) WholeStep(script, workers);
}

TEST(LeaseScript, TheFirstStepPlacesAndLeasesAndSendsCopiesBehind) {
  Script script(Options(3));
  EXPECT_THAT(script.Start({100, 100, 100}),
              ElementsAre("lease 0", "place 0 x4", "place 1 x4", "place 2 x4", "extend 0 x4",
                          "extend 1 x4", "extend 2 x4", "place 0 x4", "place 1 x4", "place 2 x4"));
  EXPECT_THAT(WholeStep(script, 3),
              ElementsAre("lease 1", "extend 0 x4", "extend 1 x4", "extend 2 x4"));
  EXPECT_EQ(script.Stats().tolerates, 1u);
  EXPECT_EQ(script.Stats().workers[1].steps_in_time, 1u);
  EXPECT_EQ(script.Stats().workers[1].samples, 40u);
  EXPECT_EQ(script.Stats().workers[1].placed_partitions, 8u);
}

TEST(LeaseScript, OneThatDoesNotAnswerIsFencedAndItsLeasesMoveOn) {
  Script script(Options(3));
  Warm(script, 3);
  const StepId step = script.step();
  for (uint32_t done = 1; done <= 4; ++done) {
    script.PassTime(0.1);
    for (const WorkerId w : {0, 1}) {
      script.Send(LeaseProgress{w, step, done, FromSeconds(0.1 * done)});
    }
  }
  for (const WorkerId w : {0, 1}) script.Send(LeaseVector{w, step, 4});
  const Script::Lines lines = script.PassTime(3);
  EXPECT_THAT(lines, Contains("cancel 2 step 6"));
  EXPECT_THAT(lines, AllOf(Contains("extend 0 x2"), Contains("extend 1 x2")));
  EXPECT_EQ(script.Stats().workers[2].late, 1u);
  EXPECT_EQ(script.Stats().rows_reassigned, 4u);
  script.Send(LeaseVector{0, step, 2});
  // The message has no effect on the step, but shows that the worker is back.
  EXPECT_THAT(script.Send(RowLate{2, step}), IsEmpty());
  EXPECT_THAT(script.Send(LeaseVector{1, step, 2}), Contains("commit 6"));
  EXPECT_THAT(script.Send(StepApplied{step}), Contains("extend 2 x4"));
}

TEST(LeaseScript, OneThatAnswersIsSlowAndNotSilent) {
  Script script(Options(3));
  Warm(script, 3);
  const StepId step = script.step();
  Script::Lines all;
  for (int i = 0; i < 8; ++i) {
    for (const Script::Lines& lines : {script.PassTime(0.05)}) {
      all.insert(all.end(), lines.begin(), lines.end());
      for (const std::string& line : lines) {
        if (line.starts_with("revoke 2")) script.Send(LeaseReleased{2, step, {}});
      }
    }
    for (const WorkerId w : {0, 1}) {
      script.Send(
          LeaseProgress{w, step, static_cast<uint32_t>(i / 2 + 1), FromSeconds(0.1 * (i / 2 + 1))});
    }
  }
  EXPECT_THAT(all, Not(Contains("cancel 2 step 6")));
  EXPECT_EQ(script.Stats().workers[2].late, 0u);
}

TEST(LeaseScript, TheOnlyWorkerIsWaitedFor) {
  Script script(Options(1, 0));
  Warm(script, 1);
  const Script::Lines lines = script.PassTime(60);
  EXPECT_THAT(lines, Not(Contains(HasSubstr("cancel"))));
  EXPECT_THAT(Only<notice::AllSilent>(script.notices()), Not(IsEmpty()));
  script.Send(LeaseProgress{0, script.step(), 12, FromSeconds(1.2)});
  EXPECT_THAT(script.Send(LeaseVector{0, script.step(), 12}), Contains("commit 6"));
}

TEST(LeaseScript, ARefusedVectorIsComputedByOthers) {
  Script script(Options(3));
  Warm(script, 3);
  const Script::Lines lines = script.Reject(1, 0, false);
  EXPECT_THAT(lines, Contains("cancel 1 step 6"));
  EXPECT_THAT(lines, AllOf(Contains("extend 0 x2"), Contains("extend 2 x2")));
  EXPECT_THAT(lines, Not(Contains("extend 1 x1")));
  EXPECT_EQ(script.Stats().steps_restarted, 0u);
  EXPECT_EQ(script.Stats().workers[1].rejected, 1u);
}

// Worker 1 answers every request and computes nothing. Passes time until the line appears.
Script::Lines UntilLine(Script& script, const std::string& line, double seconds) {
  const StepId step = script.step();
  Script::Lines all;
  for (double past = 0; past < seconds; past += 0.05) {
    for (const std::string& one : script.PassTime(0.05)) {
      all.push_back(one);
      if (one.starts_with("revoke 1")) script.Send(LeaseReleased{1, step, {}});
    }
    if (std::find(all.begin(), all.end(), line) != all.end()) break;
  }
  return all;
}

TEST(LeaseScript, WhoWasRefusedTakesTheWorkOfOneThatIsStuckWhereNobodyElseIsLeft) {
  Script script(Options(2));
  Warm(script, 2);
  EXPECT_THAT(script.Reject(0, 0, false), Contains("extend 1 x6"));
  const Script::Lines lines = UntilLine(script, "extend 0 x12", 30);
  EXPECT_THAT(lines, AllOf(Contains("cancel 1 step 6"), Contains("extend 0 x12")));
  EXPECT_THAT(script.Send(LeaseVector{0, script.step(), 12}), Contains("commit 6"));
}

// The job takes no risk with a refused worker as long as another makes progress.
TEST(LeaseScript, WhoWasRefusedIsNotNeededWhereAnotherGetsOn) {
  Script script(Options(3));
  Warm(script, 3);
  EXPECT_THAT(script.Reject(0, 0, false), AllOf(Contains("extend 1 x2"), Contains("extend 2 x2")));
  const StepId step = script.step();
  for (uint32_t done = 1; done <= 6; ++done) {
    EXPECT_THAT(UntilLine(script, "", 0.1),
                AllOf(Not(Contains(HasSubstr("extend 0"))), Not(Contains(StartsWith("revoke 2")))))
        << "nothing moves to it";
    script.Send(LeaseProgress{2, step, done, FromSeconds(0.1 * done)});
  }
  script.Send(LeaseVector{2, step, 6});
  const Script::Lines lines = UntilLine(script, "extend 2 x4", 30);
  EXPECT_THAT(lines,
              AllOf(Contains("cancel 1 step 6"), Contains("extend 2 x2"), Contains("extend 2 x4")));
  EXPECT_THAT(lines, Not(Contains(HasSubstr("extend 0"))));
}

TEST(LeaseScript, ASpoiledStepBeginsAgainWithoutTheCulprit) {
  Script script(Options(3));
  Warm(script, 3);
  const Script::Lines lines = script.Reject(1, 0, true);
  EXPECT_THAT(lines, AllOf(Contains("cancel 0 step 6"), Contains("cancel 1 step 6"),
                           Contains("cancel 2 step 6"), Contains("lease 6")));
  EXPECT_THAT(lines, Not(Contains("extend 1 x4")));
  EXPECT_THAT(lines, Not(Contains(StartsWith("revoke")))) << "nor does anything move to it";
  EXPECT_EQ(script.Stats().steps_restarted, 1u);
}

TEST(LeaseScript, WhatNobodyHoldsAnyMoreIsSentWithinTheStep) {
  Script script(Options(3, 0));
  Warm(script, 3);
  EXPECT_THAT(script.Lost(1), AllOf(Contains("place 0 x2"), Contains("place 2 x2"),
                                    Contains("extend 0 x2"), Contains("extend 2 x2")));
}

TEST(LeaseScript, ANewLifeHoldsNothingAndIsGivenItsShareAgain) {
  Script script(Options(3));
  Warm(script, 3);
  EXPECT_THAT(script.Join(1, 2), AllOf(Contains("extend 0 x2"), Contains("extend 2 x2")));
  EXPECT_THAT(Only<notice::StartedAgain>(script.notices()), ElementsAre(notice::StartedAgain{1}));
  script.Ready(1, 100);
  script.Send(LeaseVector{0, script.step(), 6});
  EXPECT_THAT(script.Send(LeaseVector{2, script.step(), 6}), Contains("commit 6"));
  EXPECT_THAT(script.Applied(), Contains(HasSubstr("place 1 x")));
}

TEST(LeaseScript, FewerWorkersThanCopiesAreACompromise) {
  Script script(Options(3, 2));
  script.Join(0);
  script.Join(1);
  script.Ready(0, 100);
  script.Ready(1, 100);
  script.Send(WorkerNotComing{2});
  EXPECT_THAT(Only<notice::FewerCopies>(script.notices()), ElementsAre(notice::FewerCopies{2, 3}));
  EXPECT_EQ(script.Stats().tolerates, 1u);
}

}  // namespace
}  // namespace motley
