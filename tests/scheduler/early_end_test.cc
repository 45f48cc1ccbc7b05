// SPDX-License-Identifier: Apache-2.0
// Tests when steps of code "approximate" end without the rest, and when not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/job_scheduler.h"
#include "tests/scheduler/script.h"

namespace motley {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr double kRow = 0.3;  // Seconds for a row of 30 samples at 100 per second.

SchedulerOptions Options(uint32_t quorum, double deadline_seconds, uint32_t tolerate = 0) {
  SchedulerOptions options;
  options.workers = 4;
  options.partitions = 12;
  options.code = "approximate";
  options.tolerate = tolerate;
  options.quorum = quorum;
  options.step_deadline = FromSeconds(deadline_seconds);
  options.batch = 120;
  options.steps = 1000;
  return options;
}

// Deadlines are learned, and step 8 is open.
class EarlyEndTest : public ::testing::Test {
 protected:
  void Start(const SchedulerOptions& options) {
    script_ = std::make_unique<Script>(options);
    script_->Start(kSpeeds);
    for (int i = 0; i < 8; ++i) script_->WholeStep(kSpeeds);
    ASSERT_EQ(script_->step(), 8u);
  }
  Script::Lines Arrive(WorkerId worker) { return script_->Arrive(worker, worker); }

  const std::vector<double> kSpeeds{100, 100, 100, 100};
  std::unique_ptr<Script> script_;
};

TEST_F(EarlyEndTest, AQuorumIsEnough) {
  Start(Options(2, 0));
  script_->Advance(kRow);
  EXPECT_THAT(Arrive(3), IsEmpty());
  EXPECT_THAT(Arrive(1), ElementsAre("commit 8 as it is", "cancel 0 step 8", "cancel 2 step 8"));
  script_->Send(RowLate{0, 8});
  script_->Applied();
  EXPECT_EQ(script_->Stats().workers[0].late, 1u);
  EXPECT_EQ(script_->Stats().workers[3].steps_in_time + script_->Stats().workers[3].late, 9u);
}

// Two workers are always a little later than the others.
TEST_F(EarlyEndTest, AQuorumIsNotEnoughWhereTheSameDataWouldBeMissingAllTheTime) {
  SchedulerOptions options = Options(2, 0);
  script_ = std::make_unique<Script>(options);
  script_->Start(kSpeeds);
  for (int cycle = 0; cycle < 3; ++cycle) {
    for (int step = 0; step < 4; ++step) {
      script_->Advance(kRow);
      Arrive(0);
      const Script::Lines two = Arrive(1);
      EXPECT_EQ(two.empty(), step == 3) << cycle << " " << step;
      if (step == 3) {
        EXPECT_THAT(Arrive(2), IsEmpty());
        EXPECT_THAT(Arrive(3), Contains(HasSubstr("commit")));
      }
      for (const WorkerId worker : {0, 1, 2, 3}) script_->Free(worker, 30, kRow);
      script_->Applied();
    }
  }
}

TEST_F(EarlyEndTest, TheDeadlineHoldsWhateverWasMissingBefore) {
  Start(Options(2, 0.35));
  for (int step = 0; step < 4; ++step) {
    script_->Advance(kRow);
    Arrive(0);
    const bool owed = Arrive(1).empty();
    const Script::Lines late = owed ? script_->TickAtDeadline() : Script::Lines{"as it is"};
    EXPECT_THAT(late, Contains(HasSubstr("as it is")));
    EXPECT_EQ(owed, step == 3) << step;
    for (const WorkerId worker : {0, 1, 2, 3}) script_->Free(worker, 30, kRow);
    script_->Applied();
  }
}

TEST_F(EarlyEndTest, TheDeadlineEndsAStepWithWhatCame) {
  Start(Options(0, 0.35));
  script_->Advance(kRow);
  EXPECT_THAT(Arrive(0), IsEmpty());
  EXPECT_NEAR(script_->SecondsToDeadline(), 0.05, 1e-6);
  EXPECT_THAT(script_->TickAtDeadline(), ElementsAre("commit 8 as it is", "cancel 1 step 8",
                                                     "cancel 2 step 8", "cancel 3 step 8"));
}

TEST_F(EarlyEndTest, WithNothingAtTheDeadlineTheFirstIsWaitedFor) {
  Start(Options(0, 0.1));
  EXPECT_THAT(script_->PassTime(0.2), IsEmpty());
  EXPECT_THAT(Arrive(2), Contains("commit 8 as it is"));
}

TEST_F(EarlyEndTest, UntilTheDeadlineThoseWhoAreLateAreAwaited) {
  Start(Options(0, 5));
  script_->Advance(kRow);
  for (const WorkerId worker : {0, 1, 2}) {
    EXPECT_THAT(Arrive(worker), IsEmpty());
    script_->Free(worker, 30, kRow);
  }
  EXPECT_THAT(script_->PassTime(4), IsEmpty()) << "nobody else computes it";
  EXPECT_THAT(script_->PassTime(1), ElementsAre("commit 8 as it is", "cancel 3 step 8"));
}

TEST_F(EarlyEndTest, WithoutADeadlineWhoeverIsOverdueIsLeftOut) {
  Start(Options(0, 0));
  script_->Advance(kRow);
  for (const WorkerId worker : {0, 1, 2}) {
    EXPECT_THAT(Arrive(worker), IsEmpty());
    script_->Free(worker, 30, kRow);
  }
  // The learned limit passes, and once more the same time.
  EXPECT_THAT(script_->PassTime(0.3), IsEmpty());
  EXPECT_THAT(script_->PassTime(1), ElementsAre("commit 8 as it is", "cancel 3 step 8"));
  EXPECT_EQ(script_->Stats().rows_reassigned, 0u);
}

// The server itself may have been held up.
TEST_F(EarlyEndTest, WhenAllAreOverdueTheFirstDoesNotEndTheStep) {
  Start(Options(0, 0));
  script_->PassTime(3);
  for (const WorkerId worker : {0, 1, 2}) EXPECT_THAT(Arrive(worker), IsEmpty());
  EXPECT_THAT(Arrive(3), Contains(HasSubstr("commit 8")));
}

TEST_F(EarlyEndTest, ThoseWhoLiveAreEnough) {
  Start(Options(3, 0));
  script_->Advance(kRow);
  EXPECT_THAT(script_->Lost(0), Not(Contains(HasSubstr("assign"))));
  EXPECT_THAT(script_->Lost(1), IsEmpty());
  EXPECT_THAT(Arrive(2), IsEmpty());
  EXPECT_THAT(Arrive(3), Contains("commit 8 as it is"));
  EXPECT_THAT(script_->Applied(), Contains("open 9"));
}

TEST_F(EarlyEndTest, TheLossOfAllTheOthersEndsTheStep) {
  Start(Options(0, 5));
  script_->Advance(kRow);
  EXPECT_THAT(Arrive(2), IsEmpty());
  script_->Lost(0);
  script_->Lost(1);
  EXPECT_THAT(script_->Lost(3), Contains("commit 8 as it is"));
}

// Every row is lost, and a step needs at least one.
TEST_F(EarlyEndTest, ARowOfNobodyIsComputedByAnother) {
  SchedulerOptions options = Options(0, 0);
  options.workers = 2;
  script_ = std::make_unique<Script>(options);
  script_->Start({100, 100});
  for (int i = 0; i < 8; ++i) script_->WholeStep({100, 100});
  script_->Advance(0.1);
  script_->Reject(0, 0, false);  // The worker is not asked again in this step.
  script_->Free(0, 0, 0);
  EXPECT_THAT(script_->Lost(1), Contains(HasSubstr("assign 0 step 8")));
}

TEST_F(EarlyEndTest, ARestartedStepBeginsItsDeadlineAnew) {
  Start(Options(0, 0.35));
  script_->Advance(kRow);
  Arrive(0);
  script_->Free(0, 30, kRow);
  script_->Reject(1, 1, true);
  EXPECT_THAT(script_->PassTime(0.2), Not(Contains(HasSubstr("commit"))));
}

TEST_F(EarlyEndTest, ExactEndsAreExact) {
  Start(Options(0, 0, 1));  // All rows but one decode.
  script_->Advance(kRow);
  EXPECT_THAT(Arrive(0), IsEmpty());
  const Script::Lines lines = Arrive(1);  // Worker 1 belongs to the other group.
  EXPECT_THAT(lines, ElementsAre("commit 8", "cancel 2 step 8", "cancel 3 step 8"));
}

TEST(EarlyEnd, IsRefusedWhereStepsAreExact) {
  SchedulerOptions options = Options(3, 0);
  options.code = "repetition";
  EXPECT_THAT(JobScheduler::Make(options).status().message(),
              HasSubstr("`quorum` and `step_deadline` need `code` approximate"));
  options = Options(5, 0);
  EXPECT_THAT(JobScheduler::Make(options).status().message(),
              HasSubstr("a `quorum` of 5 answers from 4 workers"));
  options = Options(1, -1);
  EXPECT_THAT(JobScheduler::Make(options).status().message(), HasSubstr("positive"));
}

}  // namespace
}  // namespace motley
