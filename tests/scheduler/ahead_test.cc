// SPDX-License-Identifier: Apache-2.0
// Tests the rows of rounds (local:H,K): how long they are, and which ones their workers have begun
// ahead of their orders.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/job_scheduler.h"
#include "tests/scheduler/script.h"

namespace motley {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

class RowsAhead : public ::testing::Test {
 protected:
  void Start(const std::string& sync) {
    SchedulerOptions options;
    options.workers = 3;
    options.partitions = 12;
    options.code = "approximate";
    options.tolerate = 0;
    options.batch = 120;
    options.steps = 1000;
    options.sync = *ParseSyncMode(sync);
    script_ = std::make_unique<Script>(options);
    script_->Start(kSpeeds);
    for (int i = 0; i < 8; ++i) last_ = script_->WholeStep(kSpeeds);
    ASSERT_EQ(script_->step(), 8u);
  }
  Script::Lines Arrive(WorkerId worker) { return script_->Arrive(worker, worker); }
  // All workers are free and the round is applied, so the next one opens.
  Script::Lines Next() {
    Script::Lines lines;
    for (WorkerId id = 0; id < 3; ++id) script_->Free(id, 40, 0.4);
    return script_->Applied();
  }

  const std::vector<double> kSpeeds{100, 100, 100};
  std::unique_ptr<Script> script_;
  Script::Lines last_;
};

TEST_F(RowsAhead, FollowAnswersToTheSameRows) {
  Start("local:3,1");
  EXPECT_THAT(last_, IsSupersetOf({"assign 0 step 8 row 0 ahead", "assign 1 step 8 row 1 ahead",
                                   "assign 2 step 8 row 2 ahead"}));
}

TEST_F(RowsAhead, AreNoneUnlessAskedFor) {
  Start("local:3");
  EXPECT_THAT(last_, Each(Not(HasSubstr("ahead"))));
}

TEST_F(RowsAhead, AreNoneAfterAnAnswerThatCameTooLate) {
  Start("local:3,1");
  script_->Advance(0.4);
  Arrive(0);
  Arrive(1);
  EXPECT_THAT(script_->PassTime(60), Contains("commit 8 as it is"));
  script_->Send(RowLate{2, 8, 2});
  EXPECT_THAT(Next(), IsSupersetOf({"assign 0 step 9 row 0 ahead", "assign 1 step 9 row 1 ahead",
                                    "assign 2 step 9 row 2"}));
}

TEST_F(RowsAhead, AreNoneForAWorkerThatStartedAgain) {
  Start("local:3,1");
  script_->Advance(0.4);
  Arrive(0);
  script_->Join(0, 2);
  script_->Ready(0, 100);
  Arrive(1);
  EXPECT_THAT(Arrive(2), Contains(HasSubstr("commit 8")));
  const Script::Lines next = Next();
  EXPECT_THAT(next, Contains(HasSubstr("assign 0 step 9 row")));
  EXPECT_THAT(next, Not(Contains(AllOf(HasSubstr("assign 0"), HasSubstr("ahead")))));
}

TEST_F(RowsAhead, AreNoneIfTheRowsChange) {
  Start("local:3,1");
  script_->Advance(0.4);
  Arrive(0);
  Arrive(1);
  EXPECT_THAT(script_->Lost(2), Contains("commit 8 as it is"));
  script_->Free(0, 40, 0.4);
  script_->Free(1, 40, 0.4);
  const Script::Lines next = script_->Applied();
  EXPECT_THAT(next, Contains(HasSubstr("assign 0 step 9 row")));
  EXPECT_THAT(next, Each(Not(HasSubstr("ahead"))));
}

// Orders of the first attempt ended what the workers had begun.
TEST_F(RowsAhead, AreNoneInARoundThatBeginsAgain) {
  Start("local:3,1");
  script_->Advance(0.4);
  Arrive(0);
  script_->Reject(1, 1, /*touched=*/true);
  Script::Lines again;
  for (WorkerId id = 0; id < 3; ++id) {
    for (const std::string& line : script_->Free(id, 40, 0.4)) again.push_back(line);
  }
  EXPECT_THAT(again, Contains(HasSubstr("assign 0 step 8 row 0")));
  EXPECT_THAT(again, Each(Not(HasSubstr("ahead"))));
}

// If a worker took fewer steps because its vectors take long, the round would hardly be shorter,
// and the worker of less use.
TEST_F(RowsAhead, AreAsLongAsTheWorkersSpeedSays) {
  Start("local:3,1");
  script_->Send(LinkMeasured{2, FromSeconds(2)});
  Script::Lines all;
  for (int round = 0; round < 40; ++round) {
    script_->Advance(0.4);
    Arrive(0);
    Arrive(1);
    script_->Free(0, 40, 0.4);
    script_->Free(1, 40, 0.4);
    script_->Advance(2);
    Arrive(2);
    script_->Free(2, 40, 0.4);
    const Script::Lines next = script_->Applied();
    all.insert(all.end(), next.begin(), next.end());
  }
  EXPECT_EQ(script_->step(), 48u);
  EXPECT_THAT(all, Each(Not(HasSubstr("place"))));
  EXPECT_EQ(script_->Stats().replans, 0u);
}

}  // namespace
}  // namespace motley
