// SPDX-License-Identifier: Apache-2.0
// Each test acts like a broken server, and the checker must report it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "coding/gradient_code.h"
#include "sim/checkers/audit_checker.h"
#include "sim/checkers/gradient_checker.h"
#include "sim/checkers/liveness_checker.h"
#include "sim/checkers/placement_checker.h"
#include "sim/checkers/queue_checker.h"
#include "sim/checkers/step_checker.h"
#include "sim/sim_cluster.h"

namespace motley {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Time At(double seconds) { return Time(FromSeconds(seconds)); }

CodeForm Form(const char* code, uint32_t workers, uint32_t stragglers) {
  auto form = BuildCode(code, {.speeds = std::vector<double>(workers, 1.0),
                               .stragglers = stragglers,
                               .partitions = 12,
                               .seed = 1});
  EXPECT_TRUE(form.ok()) << form.status().ToString();
  return *form;
}

class StepCheckerTest : public testing::Test {
 protected:
  void Open(StepId step) {
    checker_.OnEvent(event::StepOpened{step, form_, At(0)});
    for (RowId row = 0; row < form_.workers; ++row)
      checker_.OnEvent(event::RowAssigned{step, row, row, At(0)});
  }
  void Arrive(StepId step, RowId row) {
    checker_.OnEvent(event::RowArrived{step, row, row, At(0)});
  }
  void Decode(StepId step) { checker_.OnEvent(event::StepDecoded{step, {}, {}, At(0)}); }
  void Apply(StepId step, uint64_t staleness = 0) {
    checker_.OnEvent(event::StepApplied{step, {}, 0, At(0), staleness});
  }
  void GoodStep(StepId step) {
    Open(step);
    for (RowId row = 1; row < form_.workers; ++row) Arrive(step, row);
    Decode(step);
    Apply(step);
  }

  Violations violations_;
  const CodeForm form_ = Form("rs", 4, 1);
  StepChecker checker_{violations_, /*whole_rows=*/true};
};

TEST_F(StepCheckerTest, AGoodSequenceIsFine) {
  GoodStep(0);
  Open(1);
  Arrive(1, 0);
  Open(1);  // The step starts again, and all rows are open.
  for (RowId row = 0; row < 3; ++row) Arrive(1, row);
  Decode(1);
  Apply(1);
  EXPECT_THAT(violations_.list(), IsEmpty());
}

TEST_F(StepCheckerTest, ASkippedVersionIsReported) {
  GoodStep(0);
  GoodStep(2);
  ASSERT_FALSE(violations_.list().empty());
  EXPECT_THAT(violations_.list()[0], HasSubstr("step 2 was opened at version 1"));
}

TEST_F(StepCheckerTest, AStepAppliedTwiceIsReported) {
  GoodStep(0);
  Apply(0);
  EXPECT_THAT(violations_.list(), ElementsAre(HasSubstr("step 0 was applied to version 1")));
}

TEST_F(StepCheckerTest, AnOldGradientIsReported) {
  GoodStep(0);
  Open(1);
  for (RowId row = 0; row < 3; ++row) Arrive(1, row);
  Decode(1);
  Apply(1, 1);
  EXPECT_THAT(violations_.list(), ElementsAre(HasSubstr("gradient of step 1 was 1 updates old")));
}

TEST_F(StepCheckerTest, AStepAppliedWithoutDecodingIsReported) {
  Open(0);
  Apply(0);
  EXPECT_THAT(violations_.list(), ElementsAre(HasSubstr("without a decoded gradient")));
}

TEST_F(StepCheckerTest, AStepDecodedTwiceIsReported) {
  Open(0);
  for (RowId row = 0; row < 3; ++row) Arrive(0, row);
  Decode(0);
  Decode(0);
  EXPECT_THAT(violations_.list(), ElementsAre(HasSubstr("decoded while it was not open")));
}

TEST_F(StepCheckerTest, AStepOpenedAgainAfterDecodingIsReported) {
  Open(0);
  for (RowId row = 0; row < 3; ++row) Arrive(0, row);
  Decode(0);
  Open(0);
  EXPECT_THAT(violations_.list(), ElementsAre(HasSubstr("opened again after it had decoded")));
}

TEST_F(StepCheckerTest, OnlyADecodedStepIsTakenBack) {
  Open(0);
  for (RowId row = 0; row < 3; ++row) Arrive(0, row);
  Decode(0);
  checker_.OnEvent(event::UpdateTakenBack{0});
  Open(0);
  for (RowId row = 0; row < 3; ++row) Arrive(0, row);
  Decode(0);
  Apply(0);
  EXPECT_THAT(violations_.list(), IsEmpty());
  checker_.OnEvent(event::UpdateTakenBack{0});
  EXPECT_THAT(violations_.list(), ElementsAre(HasSubstr("step 0 was taken back at version 1")));
}

TEST_F(StepCheckerTest, ACommitWithTooFewAnswersIsReported) {
  Open(0);
  Arrive(0, 0);
  Arrive(0, 2);
  Decode(0);
  EXPECT_THAT(violations_.list(),
              ElementsAre(HasSubstr("I2: step 0 was committed with too few answers")));
}

TEST_F(StepCheckerTest, WithSlicesTheRowsAskedForAreJudged) {
  Violations violations;
  StepChecker checker(violations, /*whole_rows=*/false);
  checker.OnEvent(event::StepOpened{0, form_, At(0)});
  for (RowId row = 0; row < 3; ++row) checker.OnEvent(event::RowAssigned{0, row, row, At(0)});
  checker.OnEvent(event::StepDecoded{0, {}, {}, At(0)});
  EXPECT_THAT(violations.list(), IsEmpty());
  checker.OnEvent(event::StepApplied{0, {}, 0, At(0)});
  checker.OnEvent(event::StepOpened{1, form_, At(0)});
  checker.OnEvent(event::RowAssigned{1, 0, 0, At(0)});
  checker.OnEvent(event::StepDecoded{1, {}, {}, At(0)});
  EXPECT_THAT(violations.list(), ElementsAre(HasSubstr("I2: step 1")));
}

TEST_F(StepCheckerTest, ARowCountedTwiceIsReported) {
  Open(0);
  Arrive(0, 2);
  Arrive(0, 2);
  EXPECT_THAT(violations_.list(), ElementsAre(HasSubstr("row 2 of step 0 counted twice")));
}

TEST_F(StepCheckerTest, ALateRowThatCountsIsReported) {
  GoodStep(0);
  Arrive(0, 0);
  Open(1);
  Arrive(0, 0);
  EXPECT_THAT(violations_.list(), ElementsAre(HasSubstr("row 0 of step 0 from worker 0 counted"),
                                              HasSubstr("row 0 of step 0 from worker 0 counted")));
}

TEST_F(StepCheckerTest, AnAnswerOfSomebodyWhoWasNotAskedIsReported) {
  Open(0);
  checker_.OnEvent(event::RowArrived{0, 1, /*worker=*/3, At(0)});
  EXPECT_THAT(violations_.list(),
              ElementsAre(HasSubstr("came from worker 3, which was not asked")));
}

TEST_F(StepCheckerTest, WorkGivenOutForAClosedStepIsReported) {
  GoodStep(0);
  checker_.OnEvent(event::RowAssigned{0, 1, 1, At(0)});
  EXPECT_THAT(violations_.list(), ElementsAre(HasSubstr("row 1 of step 0 was given to worker 1")));
}

class GradientCheckerTest : public testing::Test {
 protected:
  void SetUp() override {
    job_.model = {.name = "softmax", .features = data_.features, .classes = data_.classes};
    job_.optimizer.name = "momentum";
    job_.workers = 2;
    job_.batch = 12;
    job_.steps = 3;
    auto checker = GradientChecker::Create(violations_, job_, source_);
    ASSERT_TRUE(checker.ok()) << checker.status().ToString();
    checker_ = *std::move(checker);
    Record();
  }

  // The gradients and parameters of a real job, step by step.
  struct Step {
    std::vector<float> gradient, before, after;
    double loss = 0, weight = 0;
    DecodedSum sum() const { return {gradient, loss, weight}; }
  };
  class Recorder final : public JobObserver {
   public:
    void OnEvent(const JobEvent& event) override {
      if (const auto* decoded = std::get_if<event::StepDecoded>(&event)) {
        const DecodedSum& sum = decoded->sum;
        steps.push_back({{sum.gradient.begin(), sum.gradient.end()},
                         {decoded->parameters.begin(), decoded->parameters.end()},
                         {},
                         sum.loss,
                         sum.weight});
      } else if (const auto* applied = std::get_if<event::StepApplied>(&event)) {
        steps.back().after.assign(applied->parameters.begin(), applied->parameters.end());
      }
    }
    std::vector<Step> steps;
  };
  void Record() {
    SimOptions options;
    options.job = job_;
    options.cluster.workers.resize(2);
    for (WorkerProfile& worker : options.cluster.workers) worker.device.samples_per_second = 100;
    Recorder recorder;
    const auto result = Simulate(options, data_, &recorder);
    ASSERT_TRUE(result.ok()) << result.status().ToString();
    steps_ = recorder.steps;
    ASSERT_EQ(steps_.size(), 3u);
  }
  void Replay() {
    for (StepId step = 0; step < steps_.size(); ++step) {
      checker_->OnEvent(event::StepDecoded{step, steps_[step].sum(), steps_[step].before, At(0)});
      checker_->OnEvent(event::StepApplied{step, steps_[step].after, 0, At(0)});
    }
  }

  const Dataset data_ = MakeSyntheticDataset(60, 5, 3, 1);
  const MemorySource source_{data_};
  JobOptions job_;
  Violations violations_;
  std::unique_ptr<GradientChecker> checker_;
  std::vector<Step> steps_;
};

TEST_F(GradientCheckerTest, ARealJobIsFineAndFollowsTheSerialRun) {
  Replay();
  EXPECT_THAT(violations_.list(), IsEmpty());
  EXPECT_LT(checker_->serial_difference(), 1e-5);
  EXPECT_LT(checker_->worst_gradient_error(), 1e-6);
}

TEST_F(GradientCheckerTest, AGradientThatIsALittleOffIsReported) {
  std::vector<float>& gradient = steps_[1].gradient;
  const auto smaller = [](float a, float b) { return std::abs(a) < std::abs(b); };
  *std::max_element(gradient.begin(), gradient.end(), smaller) *= 1.001f;
  checker_->OnEvent(event::StepDecoded{0, steps_[0].sum(), steps_[0].before, At(0)});
  checker_->OnEvent(event::StepApplied{0, steps_[0].after, 0, At(0)});
  EXPECT_THAT(violations_.list(), IsEmpty());
  checker_->OnEvent(event::StepDecoded{1, steps_[1].sum(), steps_[1].before, At(0)});
  ASSERT_FALSE(violations_.list().empty());
  EXPECT_THAT(violations_.list()[0], HasSubstr("I4: the gradient of step 1"));
}

TEST_F(GradientCheckerTest, AGradientThatIsNotANumberIsReported) {
  steps_[0].gradient[0] = std::numeric_limits<float>::quiet_NaN();
  checker_->OnEvent(event::StepDecoded{0, steps_[0].sum(), steps_[0].before, At(0)});
  ASSERT_FALSE(violations_.list().empty());
  EXPECT_THAT(violations_.list()[0], HasSubstr("I4: the gradient of step 0"));
}

TEST_F(GradientCheckerTest, AWrongLossIsReported) {
  steps_[0].loss *= 1.001;
  checker_->OnEvent(event::StepDecoded{0, steps_[0].sum(), steps_[0].before, At(0)});
  EXPECT_THAT(violations_.list(), ElementsAre(HasSubstr("I4: the loss of step 0")));
}

TEST_F(GradientCheckerTest, AWrongWeightIsReported) {
  steps_[0].weight += 1e-6;
  checker_->OnEvent(event::StepDecoded{0, steps_[0].sum(), steps_[0].before, At(0)});
  EXPECT_THAT(violations_.list(), ElementsAre(HasSubstr("I4: the batch of step 0 weighs")));
}

TEST_F(GradientCheckerTest, AnUpdateAppliedTwiceIsReported) {
  for (size_t i = 0; i < steps_[0].after.size(); ++i) {
    steps_[0].after[i] += steps_[0].after[i] - steps_[0].before[i];
  }
  checker_->OnEvent(event::StepDecoded{0, steps_[0].sum(), steps_[0].before, At(0)});
  checker_->OnEvent(event::StepApplied{0, steps_[0].after, 0, At(0)});
  EXPECT_THAT(violations_.list(),
              ElementsAre(HasSubstr("update of step 0 is not the optimizer's")));
  EXPECT_GT(checker_->serial_difference(), 0.1);
}

TEST_F(GradientCheckerTest, ParametersOfAnotherVersionAreReported) {
  checker_->OnEvent(event::StepDecoded{0, steps_[0].sum(), steps_[1].before, At(0)});
  EXPECT_THAT(violations_.list(), ElementsAre(HasSubstr("other parameters than those of its")));
}

class PlacementCheckerTest : public testing::Test {
 protected:
  void SetUp() override { checker_.OnEvent(event::CommandGiven{OpenStep{0, form_}, At(0)}); }

  const std::shared_ptr<const CodeForm> form_ = std::make_shared<CodeForm>(Form("none", 3, 0));
  Violations violations_;
  PlacementChecker checker_{violations_, 3};
};

TEST_F(PlacementCheckerTest, WorkOnPlacedPartitionsIsFine) {
  checker_.OnEvent(event::CommandGiven{PlacePartitions{0, {0, 1, 2, 3}}, At(0)});
  checker_.OnEvent(event::CommandGiven{AssignRow{0, 0, 0}, At(0)});
  checker_.OnEvent(event::CommandGiven{EndJob{}, At(0)});
  EXPECT_THAT(violations_.list(), IsEmpty());
}

TEST_F(PlacementCheckerTest, WorkOnAPartitionThatWasNeverPlacedIsReported) {
  checker_.OnEvent(event::CommandGiven{PlacePartitions{0, {0, 1, 3}}, At(0)});
  checker_.OnEvent(event::CommandGiven{AssignRow{0, 0, 0}, At(0)});
  EXPECT_THAT(
      violations_.list(),
      ElementsAre(HasSubstr("worker 0 was given row 0 of step 0 but never got partition 2")));
}

TEST_F(PlacementCheckerTest, ANewLifeHoldsNothing) {
  checker_.OnEvent(event::CommandGiven{PlacePartitions{0, {0, 1, 2, 3}}, At(0)});
  checker_.OnEvent(event::WorkerJoined{0, "worker-0"});
  checker_.OnEvent(event::CommandGiven{AssignRow{0, 0, 0}, At(0)});
  EXPECT_THAT(violations_.list(), ElementsAre(HasSubstr("never got partition 0")));
}

TEST_F(PlacementCheckerTest, ARowThatDoesNotExistIsReported) {
  checker_.OnEvent(event::CommandGiven{AssignRow{0, 0, 3}, At(0)});
  EXPECT_THAT(violations_.list(), ElementsAre(HasSubstr("row 3 of step 0, which does not exist")));
}

TEST_F(PlacementCheckerTest, CommandsAfterTheEndAreReported) {
  checker_.OnEvent(event::CommandGiven{EndJob{}, At(0)});
  checker_.OnEvent(event::CommandGiven{CancelWork{0, 0}, At(0)});
  EXPECT_THAT(violations_.list(), ElementsAre(HasSubstr("after the end of the job")));
}

TEST(LivenessChecker, CommitsWithinTheLimitAreFine) {
  Violations violations;
  LivenessChecker checker(violations, At(10), FromSeconds(1));
  checker.OnEvent(event::StepApplied{0, {}, 0, At(9)});
  checker.OnEvent(event::StepApplied{1, {}, 0, At(10.9)});
  checker.OnEvent(event::StepApplied{2, {}, 0, At(11.8)});
  checker.StillRunning(At(12.5), 3);
  EXPECT_THAT(violations.list(), IsEmpty());
}

TEST(LivenessChecker, AStepThatTakesTooLongWithoutFaultsIsReported) {
  Violations violations;
  LivenessChecker checker(violations, At(10), FromSeconds(1));
  checker.OnEvent(event::StepApplied{0, {}, 0, At(5)});
  checker.OnEvent(event::StepApplied{1, {}, 0, At(11.5)});
  EXPECT_THAT(violations.list(), ElementsAre(HasSubstr("I9: step 1 took 1.500 s")));
}

TEST(LivenessChecker, AJobThatHangsIsReportedWhileSomebodyLives) {
  Violations violations;
  LivenessChecker checker(violations, At(0), FromSeconds(1));
  checker.OnEvent(event::StepApplied{0, {}, 0, At(0.5)});
  checker.StillRunning(At(100), 0);
  EXPECT_THAT(violations.list(), IsEmpty());
  checker.StillRunning(At(100), 2);
  EXPECT_THAT(violations.list(), ElementsAre(HasSubstr("I9: step 1 has not been committed")));
}

TEST(QueueChecker, AQueueAboveItsLimitIsReported) {
  const Dataset data = MakeSyntheticDataset(100, 10, 2, 1);
  JobOptions job;
  job.workers = 4;
  const QueueLimits limits = LimitQueues(job, data, /*vector_length=*/1000);
  EXPECT_GE(limits.worker, 2u * 4000);
  EXPECT_LT(limits.worker, 100'000u);
  EXPECT_GE(limits.server, data.size_bytes() + 4000);
  Violations violations;
  CheckQueue(limits.worker, "worker 2", limits.worker, violations);
  EXPECT_THAT(violations.list(), IsEmpty());
  CheckQueue(limits.worker, "worker 2", limits.worker + 1, violations);
  EXPECT_THAT(violations.list(), ElementsAre(HasSubstr("I8: worker 2 had")));
}

TEST(AuditChecker, ALiarMayPassOnce) {
  for (const StepId noticed : {20, 21, 22}) {
    Violations violations;
    AuditChecker checker(violations, "liar");
    checker.Spoilt(20);
    checker.Spoilt(21);
    checker.OnEvent(event::AuditWarned{{.step = noticed, .worker = WorkerId{1}, .name = "liar"}});
    checker.Finish();
    EXPECT_EQ(violations.list().empty(), noticed <= 21) << noticed;
  }
}

TEST(AuditChecker, AStepWithoutAnAuditDoesNotCount) {
  for (const bool given_up : {false, true}) {
    Violations violations;
    AuditChecker checker(violations, "liar");
    checker.Spoilt(20);
    checker.Spoilt(21);
    checker.Spoilt(22);
    if (given_up) checker.OnEvent(event::AuditGivenUp{21});
    checker.OnEvent(event::AuditWarned{{.step = 22, .worker = WorkerId{1}, .name = "liar"}});
    checker.Finish();
    EXPECT_EQ(violations.list().empty(), given_up);
  }
}

TEST(AuditChecker, AnHonestWorkerIsNotBlamed) {
  Violations violations;
  AuditChecker checker(violations, "liar");
  checker.OnEvent(event::AuditWarned{{.step = 1, .worker = WorkerId{0}, .name = "honest"}});
  EXPECT_THAT(violations.list(), ElementsAre(HasSubstr("wronged")));
}

TEST(Violations, OneBugDoesNotFillTheMemory) {
  Violations violations;
  for (int i = 0; i < 1000; ++i) violations.Add("again");
  EXPECT_EQ(violations.list().size(), Violations::kMostKept);
}

}  // namespace
}  // namespace motley
