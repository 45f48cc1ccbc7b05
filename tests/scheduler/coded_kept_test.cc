// SPDX-License-Identifier: Apache-2.0
// Tests steps whose workers keep rows until enough are done: partial-coded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/scheduler/script.h"

namespace motley {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// Three workers of equal speed, one of which may be missing: all three hold all rows.
class CodedKept : public testing::Test {
 protected:
  CodedKept() : script_(Options()) {
    script_.Start({100, 100, 100});
    lists_ = Code().lists;
    for (WorkerId id = 0; id < 3; ++id) left_[id] = List(id).size();
  }

  static SchedulerOptions Options() {
    SchedulerOptions options;
    options.workers = 3;
    options.partitions = 12;
    options.code = "partial-coded";
    options.tolerate = 1;
    options.batch = 120;
    options.steps = 100;
    return options;
  }

  const CodeForm& Code() const { return script_.decoder().code(); }
  const std::vector<RowId>& List(WorkerId worker) const { return lists_.at(worker); }
  bool Keeping() const { return Code().kept_parts > 0; }
  // A worker has done the next row of its list and reports it.
  Script::Lines Do(WorkerId worker) {
    script_.Advance(0.1);
    const Script::Lines lines = script_.Arrive(worker, List(worker)[done_[worker]++]);
    --left_[worker];
    script_.Free(worker, 10, 0.1);
    return lines;
  }
  // The workers take turns until the answers are asked for. Returns the lines that ask.
  Script::Lines RunToAnswers(const std::vector<WorkerId>& workers) {
    Script::Lines lines;
    for (size_t turn = 0; turn < 100 && Keeping(); ++turn) {
      for (const WorkerId id : workers) {
        if (Keeping() && done_[id] < List(id).size()) lines = Do(id);
      }
    }
    EXPECT_FALSE(Keeping());
    return lines;
  }
  // The cancelled entries of each list end with one message each.
  void EndQueues() {
    for (WorkerId id = 0; id < 3; ++id) {
      for (; left_[id] > 0; --left_[id]) script_.Free(id);
    }
  }

  Script script_;
  std::vector<std::vector<RowId>> lists_;
  std::vector<size_t> done_ = std::vector<size_t>(3, 0);
  std::vector<size_t> left_ = std::vector<size_t>(3, 0);
};

TEST_F(CodedKept, AsksOnceWhenTwoHaveDoneEveryRowAndCommitsWithAllAnswers) {
  ASSERT_TRUE(Keeping());
  EXPECT_EQ(Code().kept_parts, 2u);
  const Script::Lines asked = RunToAnswers({0, 1, 2});
  EXPECT_THAT(asked, Contains("open 0"));
  EXPECT_THAT(asked, AllOf(Contains("assign 0 step 0 row 0"), Contains("assign 1 step 0 row 1"),
                           Contains("assign 2 step 0 row 2")));
  EXPECT_GT(left_[0] + left_[1] + left_[2], 0u) << "not all of every list is needed";
  EXPECT_EQ(Code().parts, 2u);
  EndQueues();
  EXPECT_THAT(script_.Arrive(0, 0), IsEmpty());
  EXPECT_THAT(script_.Arrive(1, 1), IsEmpty());
  EXPECT_THAT(script_.Arrive(2, 2), ElementsAre("commit 0"));
  for (WorkerId id = 0; id < 3; ++id) script_.Free(id);
  EXPECT_THAT(script_.Applied(), Contains("open 1"));
  EXPECT_TRUE(Keeping()) << "the next step begins with lists again";
  for (const WorkerStats& worker : script_.Stats().workers) {
    EXPECT_EQ(worker.late, 0u);
    EXPECT_EQ(worker.steps_in_time, 1u) << "a worker answers once";
  }
}

TEST_F(CodedKept, OneThatDidNothingIsNotAwaited) {
  const Script::Lines asked = RunToAnswers({0, 2});
  EXPECT_THAT(asked, Not(Contains("assign 1 step 0 row 1")));
  EndQueues();
  script_.Arrive(0, 0);
  EXPECT_THAT(script_.Arrive(2, 2), ElementsAre("commit 0"));
}

TEST_F(CodedKept, WhatALostWorkerKeptIsDoneByOthers) {
  for (size_t turn = 0; turn < List(0).size(); ++turn) Do(0);
  for (size_t turn = 0; turn < 2; ++turn) Do(1);
  ASSERT_TRUE(Keeping());
  script_.Lost(0);
  ASSERT_TRUE(Keeping()) << "two of three are enough";
  RunToAnswers({1, 2});
  EXPECT_TRUE(Code().rows[0].empty());
  EXPECT_EQ(script_.Stats().steps_restarted, 0u);
}

// With one of three workers left, no two can do every row. It computes for its own row of the
// answers and for another's.
TEST_F(CodedKept, TheLastWorkerAnswersForAnother) {
  Do(0);
  script_.Lost(0);
  const Script::Lines lines = script_.Lost(2);
  if (Keeping()) RunToAnswers({1});
  EndQueues();
  script_.Arrive(1, 1);
  Script::Lines helped = script_.Free(1);
  const Script::Lines more = script_.PassTime(5);
  helped.insert(helped.end(), more.begin(), more.end());
  EXPECT_THAT(helped, Contains(AnyOf("assign 1 step 0 row 0", "assign 1 step 0 row 2")));
}

TEST_F(CodedKept, ALossAfterTheQuestionCostsItsRowOnly) {
  RunToAnswers({0, 1, 2});
  EndQueues();
  script_.Arrive(0, 0);
  script_.Free(0);
  const Script::Lines lines = script_.Lost(1);
  EXPECT_THAT(lines, Contains("assign 0 step 0 row 1"));
  script_.Arrive(2, 2);
  EXPECT_THAT(script_.Arrive(0, 1), ElementsAre("commit 0"));
  EXPECT_EQ(script_.Stats().steps_restarted, 0u);
}

TEST_F(CodedKept, AnAnswerThatDoesNotComeIsGivenByAnother) {
  RunToAnswers({0, 1, 2});
  EndQueues();
  for (const WorkerId id : {0, 2}) {
    script_.Arrive(id, id);
    script_.Free(id);
  }
  EXPECT_THAT(script_.PassTime(5),
              Contains(AnyOf("assign 0 step 0 row 1", "assign 2 step 0 row 1")));
  EXPECT_EQ(script_.Stats().workers[1].late, 0u);
}

TEST_F(CodedKept, ARefusedAnswerIsGivenByAnother) {
  RunToAnswers({0, 1, 2});
  EndQueues();
  script_.Arrive(0, 0);
  script_.Free(0);
  EXPECT_THAT(script_.Reject(2, 2, false), Contains("assign 0 step 0 row 2"));
  EXPECT_FALSE(Keeping());
  EXPECT_EQ(script_.Stats().steps_restarted, 0u);
}

TEST_F(CodedKept, OneThatIsInsideTheSumsBeginsTheStepAgain) {
  RunToAnswers({0, 1, 2});
  EndQueues();
  script_.Arrive(0, 0);
  script_.Free(0);
  EXPECT_THAT(script_.Reject(1, 1, true), Contains("open 0"));
  EXPECT_TRUE(Keeping());
  EXPECT_EQ(script_.Stats().steps_restarted, 1u);
}

// A paused worker has kept rows that count. Nobody waits longer for it than for a row.
TEST_F(CodedKept, RowsOfWhoIsOverdueCountForOthersOnlyWhereTheyMust) {
  Do(0);
  for (size_t turn = 0; turn < 100 && Keeping(); ++turn) {
    for (const WorkerId id : {1, 2}) {
      if (Keeping() && done_[id] < List(id).size()) Do(id);
    }
    script_.Advance(100);  // Far beyond what is normal.
    script_.TickNow();
  }
  EXPECT_FALSE(Keeping());
  EXPECT_TRUE(Code().rows[0].empty() || script_.Stats().workers[0].late > 0);
}

}  // namespace
}  // namespace motley
