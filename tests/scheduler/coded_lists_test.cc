// SPDX-License-Identifier: Apache-2.0
// Tests plans that give every worker a list of rows: multi-message.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "scheduler/job_scheduler.h"
#include "tests/scheduler/script.h"

namespace motley {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

SchedulerOptions Options(uint32_t workers, uint32_t tolerate = 1) {
  SchedulerOptions options;
  options.workers = workers;
  options.partitions = 12;
  options.code = "multi-message";
  options.tolerate = tolerate;
  options.batch = 120;
  options.steps = 1000;
  return options;
}

// Two workers hold all six rows and begin with different ones.
const std::vector<RowId> kFirstList = {5, 3, 1, 4, 2, 0};
const std::vector<RowId> kSecondList = {4, 2, 0, 5, 3, 1};

// Both work at 100 samples per second, so a row takes 0.2 s and a step ends after three turns.
// Every row that a worker was given ends with one message.
void QuietStep(Script& script) {
  for (size_t turn = 0; turn < 3; ++turn) {
    script.Advance(0.2);
    script.Arrive(0, kFirstList[turn]);
    script.Arrive(1, kSecondList[turn]);
    for (const WorkerId worker : {0, 1}) script.Free(worker, 20, 0.2);
  }
  for (size_t turn = 3; turn < 6; ++turn) {
    for (const WorkerId worker : {0, 1}) script.Free(worker);
  }
  script.Applied();
}

TEST(CodedLists, AStepOpensWithEveryList) {
  Script script(Options(2));
  EXPECT_THAT(
      script.Start({100, 100}),
      ElementsAre("open 0", "place 0 x2", "assign 0 step 0 row 5", "place 0 x2",
                  "assign 0 step 0 row 3", "place 0 x2", "assign 0 step 0 row 1", "place 0 x2",
                  "assign 0 step 0 row 4", "place 0 x2", "assign 0 step 0 row 2", "place 0 x2",
                  "assign 0 step 0 row 0", "place 1 x2", "assign 1 step 0 row 4", "place 1 x2",
                  "assign 1 step 0 row 2", "place 1 x2", "assign 1 step 0 row 0", "place 1 x2",
                  "assign 1 step 0 row 5", "place 1 x2", "assign 1 step 0 row 3", "place 1 x2",
                  "assign 1 step 0 row 1"));
  EXPECT_EQ(script.Stats().tolerates, 1u);
  EXPECT_EQ(script.Stats().workers[0].share, 1) << "both copies";
}

TEST(CodedLists, WhatOneAnsweredTheOtherDrops) {
  Script script(Options(2));
  script.Start({100, 100});
  EXPECT_THAT(script.Arrive(0, 5), ElementsAre("cancel 1 step 0 row 5"));
  EXPECT_THAT(script.Arrive(1, 4), ElementsAre("cancel 0 step 0 row 4"));
  EXPECT_THAT(script.Arrive(1, 2), ElementsAre("cancel 0 step 0 row 2"));
  EXPECT_THAT(script.Arrive(1, 0), ElementsAre("cancel 0 step 0 row 0"));
  EXPECT_THAT(script.Arrive(0, 3), ElementsAre("cancel 1 step 0 row 3"));
  EXPECT_THAT(script.Arrive(0, 1), ElementsAre("cancel 1 step 0 row 1", "commit 0"));
  EXPECT_EQ(script.Stats().workers[0].steps_in_time, 3u);
  EXPECT_EQ(script.Stats().workers[0].late, 0u) << "a copy that was not needed is not late";
  EXPECT_EQ(script.Stats().rows_reassigned, 0u);
}

TEST(CodedLists, AWorkerIsFreeWhenItEndedAllThatItWasGiven) {
  Script script(Options(2));
  script.Start({100, 100});
  QuietStep(script);
  EXPECT_EQ(script.step(), 1u);
  for (size_t turn = 0; turn < 3; ++turn) {
    script.Arrive(0, kFirstList[turn]);
    script.Arrive(1, kSecondList[turn]);
    script.Free(0, 20, 0.2);
    script.Free(1, 20, 0.2);
  }
  for (int i = 0; i < 3; ++i) script.Free(1);
  // Worker 0 has not reported yet that it dropped the last three.
  EXPECT_THAT(script.Applied(), Each(Not(StartsWith("assign 0"))));
  EXPECT_THAT(script.Free(0), IsEmpty());
  EXPECT_THAT(script.Free(0), IsEmpty());
  EXPECT_THAT(script.Free(0), ElementsAre("assign 0 step 2 row 5", "assign 0 step 2 row 3",
                                          "assign 0 step 2 row 1", "assign 0 step 2 row 4",
                                          "assign 0 step 2 row 2", "assign 0 step 2 row 0"));
}

TEST(CodedLists, DeadlinesCountTheWholeQueue) {
  Script script(Options(2));
  script.Start({100, 100});
  for (int i = 0; i < 8; ++i) QuietStep(script);
  // The first row is due first: 1.5 times the 0.2 s of a row, and the floor.
  EXPECT_NEAR(script.SecondsToDeadline(), 1.5 * 0.2 + 0.05, 0.01);
  script.Advance(0.2);
  script.Arrive(0, 5);
  script.Arrive(1, 4);
  EXPECT_NEAR(script.SecondsToDeadline(), 1.5 * 0.4 + 0.05 - 0.2, 0.01);
}

TEST(CodedLists, OfALostWorkerNothingIsMissedThatAnotherHasOnItsList) {
  Script script(Options(2));
  script.Start({100, 100});
  QuietStep(script);
  script.Arrive(1, 4);
  EXPECT_THAT(script.Lost(1), IsEmpty());
  EXPECT_EQ(script.Stats().rows_reassigned, 0u);
  Script::Lines last;
  for (const RowId row : {5, 3, 1, 2, 0}) last = script.Arrive(0, row);
  EXPECT_THAT(last, ElementsAre("commit 1"));
}

TEST(CodedLists, RowsThatNobodyElseHasGoToWhoIsFree) {
  Script script(Options(2, 0));
  script.Start({100, 100});
  const size_t rows = script.decoder().code().rows.size();
  const auto lists = script.decoder().code().lists;
  for (const RowId row : lists[0]) script.Arrive(0, row);
  for (size_t i = 0; i < lists[0].size(); ++i) script.Free(0, 10, 0.1);
  EXPECT_THAT(script.Lost(1), Not(IsEmpty())) << "the first of its rows goes to worker 0";
  std::vector<RowId> left = lists[1];
  std::sort(left.begin(), left.end());
  for (const RowId row : left) {
    script.Arrive(0, row);
    script.Free(0, 10, 0.1);
  }
  EXPECT_EQ(script.Stats().rows_reassigned, rows - lists[0].size());
  EXPECT_EQ(script.Stats().workers[1].late, lists[1].size());
  EXPECT_TRUE(script.decoder().Decodable());
}

TEST(CodedLists, AWorkerThatStopsIsOverdueAndTheOtherGoesOn) {
  Script script(Options(2));
  script.Start({100, 100});
  for (int i = 0; i < 8; ++i) QuietStep(script);
  for (const RowId row : kFirstList) {
    script.PassTime(0.2);
    script.Arrive(0, row);
    script.Free(0, 20, 0.2);
  }
  EXPECT_EQ(script.Stats().rows_reassigned, 0u) << "worker 0 has them all on its list";
  EXPECT_GE(script.Stats().workers[1].late, 1u) << "its own were overdue when they were dropped";
  EXPECT_EQ(script.Stats().steps_committed, 8u);
}

TEST(CodedLists, ABadStepOfAWorkerIsOneRefusal) {
  Script script(Options(2));
  script.Start({100, 100});
  EXPECT_THAT(script.Reject(1, 4, false),
              ElementsAre("cancel 1 step 0 row 2", "cancel 1 step 0 row 0", "cancel 1 step 0 row 5",
                          "cancel 1 step 0 row 3", "cancel 1 step 0 row 1"));
  for (const RowId row : {2, 0, 5}) EXPECT_THAT(script.Reject(1, row, false), IsEmpty());
  EXPECT_EQ(script.Stats().workers[1].rejected, 1u);
  Script::Lines last;
  for (const RowId row : kFirstList) last = script.Arrive(0, row);
  EXPECT_THAT(last, ElementsAre("commit 0"));
}

// A lone worker is asked again, and each of its refused answers counts.
TEST(CodedLists, ALoneWorkerThatOnlyAnswersNonsenseEndsTheJob) {
  Script script(Options(1, 0));
  script.Start({100});
  const std::vector<RowId> list = script.decoder().code().lists[0];
  script.Reject(0, list[0], false);
  for (size_t i = 1; i < list.size(); ++i) script.Free(0);
  EXPECT_THAT(script.Free(0), ElementsAre("assign 0 step 0 row 0"));
  script.Reject(0, 0, false);
  EXPECT_TRUE(script.end_status().ok());
  EXPECT_THAT(script.Free(0), ElementsAre("assign 0 step 0 row 0"));
  script.Reject(0, 0, false);
  EXPECT_EQ(script.end_status().code(), StatusCode::kDataError);
}

TEST(CodedLists, ARestartedStepBeginsWhenTheOldRowsHaveEnded) {
  Script script(Options(2));
  script.Start({100, 100});
  script.Arrive(0, 5);
  EXPECT_THAT(script.Reject(1, 4, true),
              ElementsAre("cancel 0 step 0", "cancel 1 step 0", "open 0"));
  for (int i = 0; i < 5; ++i) EXPECT_THAT(script.Free(0), IsEmpty()) << i;
  EXPECT_THAT(script.Free(0), Not(IsEmpty()));
  EXPECT_EQ(script.Stats().steps_restarted, 1u);
}

// The first answer shows how long parameters and a vector take; more computing precedes the later
// answers.
TEST(CodedLists, WhatAnswersTakeBesidesComputingIsLearnedFromTheFirst) {
  auto made = JobScheduler::Make(Options(2));
  ASSERT_TRUE(made.ok()) << made.status().ToString();
  Time now(std::chrono::hours(1));
  const std::function<void(const Event&)> send = [&](const Event& event) {
    std::vector<Command> commands;
    (*made)->OnEvent(event, now, commands);
    for (const Command& command : commands) {
      const auto* place = std::get_if<PlacePartitions>(&command);
      if (place != nullptr) send(DataCame{place->worker, place->partitions});
    }
  };
  for (const WorkerId worker : {0U, 1U}) send(WorkerJoined{worker, 1});
  for (const WorkerId worker : {0U, 1U}) send(WorkerFree{worker, 0, Duration::zero(), 100});
  for (StepId step = 0; step < 4; ++step) {
    now += FromSeconds(0.03);
    for (size_t turn = 0; turn < 3; ++turn) {
      now += FromSeconds(0.2);
      send(RowArrived{0, step, kFirstList[turn]});
      send(RowArrived{1, step, kSecondList[turn]});
      for (const WorkerId worker : {0U, 1U}) send(WorkerFree{worker, 20, FromSeconds(0.2), 0});
    }
    send(StepDecodable{step});
    for (int dropped = 0; dropped < 3; ++dropped) {
      for (const WorkerId worker : {0U, 1U}) send(WorkerFree{worker, 0, Duration::zero(), 0});
    }
    send(StepApplied{step});
  }
  ASSERT_EQ((*made)->state().habits.size(), 2u);
  for (const LeaseHabits& habits : (*made)->state().habits) {
    EXPECT_GT(habits.waits, 0u);
    EXPECT_NEAR(habits.wait, 0.03, 1e-6);
  }
}

}  // namespace
}  // namespace motley
