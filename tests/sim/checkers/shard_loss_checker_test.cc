// SPDX-License-Identifier: Apache-2.0
// Each test acts like a coordinator that makes a loss of shards too expensive.
#include "sim/checkers/shard_loss_checker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace motley {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kTakenBack = "update taken back after its owner left";
constexpr const char* kRepeated = "step repeated after an owner left";

JobOptions Options() {
  JobOptions job;
  job.workers = 4;
  job.steps = 10;
  job.followers = 1;
  job.holders = JobOptions::Holders::kWorkers;
  return job;
}

class ShardLossCheckerTest : public testing::Test {
 protected:
  void Open(StepId step, uint32_t kept_parts = 0) {
    CodeForm form;
    form.kept_parts = kept_parts;
    checker_.OnEvent(event::StepOpened{step, form, Time()});
  }
  void Apply(StepId step) { checker_.OnEvent(event::StepApplied{step, {}, 0, Time()}); }
  void TakeBack(StepId step) { checker_.OnEvent(event::UpdateTakenBack{step}); }
  void Say(const JobNotice& notice) { checker_.OnEvent(event::Noticed{notice}); }
  void Lose(WorkerId worker) { checker_.OnEvent(event::WorkerLost{worker, Status()}); }
  void Move(WorkerId from) { Say(notice::ShardsMoved{from, {{0, from + 1}}}); }
  void LoseOwner(WorkerId worker) {
    Lose(worker);
    Move(worker);
  }
  void End(uint64_t steps, const std::string& why = "shard 1 of 3 is lost with worker 2 (gone)") {
    JobResult result;
    result.steps = steps;
    result.status = Status::Unavailable(why);
    checker_.CheckEnd(result);
  }
  uint64_t Reached(const char* state) {
    const auto found = reached_.reached().find(state);
    return found != reached_.reached().end() ? found->second : 0;
  }

  Violations violations_;
  JobOptions job_ = Options();
  ReachedStates reached_{job_};
  ShardLossChecker checker_{violations_, reached_, job_};
};

TEST_F(ShardLossCheckerTest, OneRepeatForEachLossIsFine) {
  Open(0);
  LoseOwner(0);
  Open(0);  // The sum was lost with its owner.
  LoseOwner(1);
  TakeBack(0);
  Open(0);
  Apply(0);
  Open(1);
  checker_.OnEvent(event::HolderLeft{2, notice::ShardsMoved::Why::kLate});
  Move(2);
  TakeBack(1);
  Open(1);
  Apply(1);
  EXPECT_THAT(violations_.list(), IsEmpty());
  EXPECT_EQ(Reached(kTakenBack), 2u);
  EXPECT_EQ(Reached(kRepeated), 3u);
}

TEST_F(ShardLossCheckerTest, TwoRepeatsForOneLossAreReported) {
  Open(0);
  LoseOwner(0);
  Open(0);
  EXPECT_THAT(violations_.list(), IsEmpty());
  Open(0);
  EXPECT_THAT(violations_.list(),
              ElementsAre(HasSubstr("I15: step 0 was repeated 2 times, after 1 losses")));
}

TEST_F(ShardLossCheckerTest, LossesOfEarlierStepsAllowNoRepeat) {
  Open(0);
  Lose(0);
  Apply(0);
  Open(1);
  Open(1);
  EXPECT_THAT(violations_.list(), ElementsAre(HasSubstr("step 1 was repeated 1 times")));
}

// The first opening waits until links are measured. All workers may be lost meanwhile.
TEST_F(ShardLossCheckerTest, LossesBeforeTheFirstStepAllowRepeatsOfIt) {
  Lose(0);
  Open(0);
  Open(0);
  EXPECT_THAT(violations_.list(), IsEmpty());
  Open(0);
  EXPECT_THAT(violations_.list(), ElementsAre(HasSubstr("step 0 was repeated 2 times")));
}

TEST_F(ShardLossCheckerTest, LostShardServersAndRefusedAnswersAllowRepeats) {
  Open(0);
  Say(notice::ShardServerLost{4, Status()});
  Open(0);
  Say(Notice(notice::Refused{0, 1, Status()}));
  Open(0);
  Say(Notice(notice::NotDecodable{0}));
  Open(0);
  EXPECT_THAT(violations_.list(), IsEmpty());
  EXPECT_EQ(Reached(kRepeated), 0u) << "no owner left";
}

TEST_F(ShardLossCheckerTest, AStepWithKeptRowsOpensTwice) {
  Open(0, 2);
  Open(0);
  LoseOwner(0);
  Open(0, 2);
  Open(0);
  EXPECT_THAT(violations_.list(), IsEmpty());
  Open(0);
  EXPECT_THAT(violations_.list(), ElementsAre(HasSubstr("step 0 was repeated 2 times")));
}

TEST_F(ShardLossCheckerTest, RoundsOfLocalStepsMayBeginAgain) {
  job_.sync.local_steps = 3;
  ShardLossChecker checker(violations_, reached_, job_);
  for (int times = 0; times < 3; ++times) {
    checker.OnEvent(event::StepOpened{0, CodeForm(), Time()});
  }
  EXPECT_THAT(violations_.list(), IsEmpty());
}

TEST_F(ShardLossCheckerTest, AFinishedVersionThatIsTakenBackIsReported) {
  Open(0);
  Apply(0);
  LoseOwner(0);
  TakeBack(0);
  Open(1);
  LoseOwner(1);
  TakeBack(0);
  EXPECT_THAT(violations_.list(), ElementsAre(HasSubstr("step 0 was taken back while it was not"),
                                              HasSubstr("step 0 was taken back while it was not")));
}

TEST_F(ShardLossCheckerTest, AnUpdateTakenBackTwiceForOneLossIsReported) {
  Open(0);
  LoseOwner(0);
  TakeBack(0);
  TakeBack(0);
  EXPECT_THAT(violations_.list(), ElementsAre(HasSubstr("taken back while it was not open")));
}

// The loss of a follower takes nothing along.
TEST_F(ShardLossCheckerTest, AnUpdateTakenBackWithoutALostOwnerIsReported) {
  Open(0);
  Lose(3);
  TakeBack(0);
  EXPECT_THAT(violations_.list(), ElementsAre(HasSubstr("taken back, and no owner had left")));
  EXPECT_EQ(Reached(kTakenBack), 0u);
}

TEST_F(ShardLossCheckerTest, AnUpdateAppliedAfterItWasTakenBackIsReported) {
  Open(0);
  LoseOwner(0);
  TakeBack(0);
  Apply(0);
  EXPECT_THAT(violations_.list(),
              ElementsAre(HasSubstr("step 0 was applied after step 0 was taken back")));
}

TEST_F(ShardLossCheckerTest, AShardLostWithItsOwnerAndFollowersIsFine) {
  Open(0);
  Lose(0);
  Apply(0);
  Open(1);
  Lose(1);
  End(1);
  EXPECT_THAT(violations_.list(), IsEmpty());
}

TEST_F(ShardLossCheckerTest, AShardLostAlthoughItsFollowerIsThereIsReported) {
  Open(0);
  Lose(0);
  End(0, "no worker is left at step 0");
  EXPECT_THAT(violations_.list(), IsEmpty()) << "the job lost no shard";
  End(0);
  EXPECT_THAT(violations_.list(),
              ElementsAre(HasSubstr("I15: 1 nodes left, of at least 2 that held the lost shard")));
}

TEST_F(ShardLossCheckerTest, AShardNeedNotHaveMoreHoldersThanThereAreNodes) {
  Say(Notice(notice::Starting{1, 4, {0, 1, 2}, false}));
  Open(0);
  Say(Notice(notice::Starting{3, 4, {0}, false}));  // After all were lost.
  Lose(3);
  End(0);
  EXPECT_THAT(violations_.list(), IsEmpty());
}

TEST_F(ShardLossCheckerTest, AShardServerHoldsShardsBesideTheWorkers) {
  job_.workers = 1;
  job_.followers = 2;
  job_.holders = JobOptions::Holders::kShardServers;
  ShardLossChecker checker(violations_, reached_, job_);
  checker.OnEvent(event::StepOpened{0, CodeForm(), Time()});
  checker.OnEvent(event::Noticed{notice::ShardServerLost{1, Status()}});
  JobResult result;
  result.status = Status::Unavailable("shard 1 of 3 is lost with shard server 1 (gone)");
  checker.CheckEnd(result);
  EXPECT_THAT(violations_.list(), ElementsAre(HasSubstr("1 nodes left, of at least 2")));
}

// The followers did not have their shards yet, or no event reported their losses.
TEST_F(ShardLossCheckerTest, LossesBeforeTheFirstAndAfterTheLastStepAreNotCounted) {
  End(0);
  Open(9);
  Apply(9);
  End(10);
  EXPECT_THAT(violations_.list(), IsEmpty());
}

}  // namespace
}  // namespace motley
