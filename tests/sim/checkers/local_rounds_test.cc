// SPDX-License-Identifier: Apache-2.0
// A real job with local steps is spoilt on its way to the gradient checker, which must report it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "sim/checkers/gradient_checker.h"
#include "sim/sim_cluster.h"

namespace motley {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class LocalRounds : public testing::Test, public JobObserver {
 protected:
  LocalRounds() {
    JobOptions& job = options_.job;
    job.model = {.name = "softmax", .features = data_.features, .classes = data_.classes};
    job.sync = *ParseSyncMode("local:3");
    job.code = "approximate";
    job.tolerate = 0;
    job.workers = 2;
    job.local.batch = 4;
    job.local.optimizer.learning_rate = 0.05;
    job.batch = 2 * 3 * 4;
    job.steps = 3;
    job.audit_fraction = 0;
    job.optimizer.learning_rate = 0.5;
    options_.cluster.workers.resize(2);
    for (WorkerProfile& worker : options_.cluster.workers) worker.device.samples_per_second = 100;
  }

  // Runs the job. `pass` hands its events to the checker, or what it makes of them.
  void Run(std::function<void(const JobEvent&)> pass) {
    pass_ = std::move(pass);
    auto checker = GradientChecker::Create(violations_, options_.job, source_);
    ASSERT_TRUE(checker.ok()) << checker.status().ToString();
    checker_ = *std::move(checker);
    const auto result = Simulate(options_, data_, this);
    ASSERT_TRUE(result.ok()) << result.status().ToString();
    ASSERT_EQ(result->job.steps, 3u);
  }
  void OnEvent(const JobEvent& event) override { pass_(event); }

  const Dataset data_ = MakeSyntheticDataset(60, 5, 3, 1);
  const MemorySource source_{data_};
  SimOptions options_;
  Violations violations_;
  std::unique_ptr<GradientChecker> checker_;
  std::function<void(const JobEvent&)> pass_;
};

TEST_F(LocalRounds, ARealJobIsFine) {
  Run([this](const JobEvent& event) { checker_->OnEvent(event); });
  EXPECT_THAT(violations_.list(), IsEmpty());
  EXPECT_LT(checker_->worst_gradient_error(), 1e-6);
}

TEST_F(LocalRounds, StepsAheadOfARoundAreChecked) {
  for (const bool wrong : {false, true}) {
    options_.job.sync = *ParseSyncMode("local:3,2");
    options_.job.local.ahead = 2;
    int ahead = 0;
    Run([&](const JobEvent& event) {
      const auto* assigned = std::get_if<event::RowAssigned>(&event);
      ahead += assigned != nullptr && assigned->ahead;
      if (assigned == nullptr || !wrong) return checker_->OnEvent(event);
      checker_->OnEvent(
          event::RowAssigned{assigned->step, assigned->row, assigned->worker, assigned->now});
    });
    EXPECT_GT(ahead, 0);
    if (wrong) {
      ASSERT_THAT(violations_.list(), Not(IsEmpty()));
      EXPECT_THAT(violations_.list()[0], HasSubstr("I4: the gradient of step 1"));
    } else {
      EXPECT_THAT(violations_.list(), IsEmpty());
    }
  }
}

TEST_F(LocalRounds, StepsAheadAfterNoAnswerAreReported) {
  Run([this](const JobEvent& event) {
    const auto* assigned = std::get_if<event::RowAssigned>(&event);
    if (assigned == nullptr || assigned->step != 0) return checker_->OnEvent(event);
    checker_->OnEvent(event::RowAssigned{assigned->step, assigned->row, assigned->worker,
                                         assigned->now, /*ahead=*/true});
  });
  ASSERT_THAT(violations_.list(), Not(IsEmpty()));
  EXPECT_THAT(violations_.list()[0], HasSubstr("steps ahead after no answer that counts"));
}

TEST_F(LocalRounds, AChangeThatIsALittleOffIsReported) {
  Run([this](const JobEvent& event) {
    const auto* decoded = std::get_if<event::StepDecoded>(&event);
    if (decoded == nullptr) return checker_->OnEvent(event);
    std::vector<float> wrong(decoded->sum.gradient.begin(), decoded->sum.gradient.end());
    const auto smaller = [](float a, float b) { return std::abs(a) < std::abs(b); };
    *std::max_element(wrong.begin(), wrong.end(), smaller) *= 1.01f;
    const DecodedSum sum{wrong, decoded->sum.loss, decoded->sum.weight};
    checker_->OnEvent(event::StepDecoded{decoded->step, sum, decoded->parameters, decoded->now,
                                         decoded->version, decoded->worker});
  });
  ASSERT_THAT(violations_.list(), Not(IsEmpty()));
  EXPECT_THAT(violations_.list()[0], HasSubstr("I4: the gradient of step 0"));
}

TEST_F(LocalRounds, StepsOnOtherPartitionsAreReported) {
  Run([this](const JobEvent& event) {
    const auto* opened = std::get_if<event::StepOpened>(&event);
    if (opened == nullptr) return checker_->OnEvent(event);
    CodeForm other = opened->code;
    std::swap(other.rows[0].back(), other.rows[1].back());
    checker_->OnEvent(event::StepOpened{opened->step, other, opened->now});
  });
  ASSERT_THAT(violations_.list(), Not(IsEmpty()));
  EXPECT_THAT(violations_.list()[0], HasSubstr("I4: the gradient of step 0"));
}

TEST_F(LocalRounds, ARowOfTwoWorkersIsReported) {
  Run([this](const JobEvent& event) {
    checker_->OnEvent(event);
    const auto* assigned = std::get_if<event::RowAssigned>(&event);
    if (assigned == nullptr || assigned->step != 2 || assigned->row != 0) return;
    checker_->OnEvent(event::RowAssigned{2, 0, 1 - assigned->worker, assigned->now});
  });
  EXPECT_THAT(violations_.list(), ElementsAre(HasSubstr("row 0 of round 2 was given to another")));
}

TEST_F(LocalRounds, StepsWithAnotherRateAreReported) {
  JobOptions other = options_.job;
  other.local.optimizer.learning_rate *= 1.1;
  auto strict = GradientChecker::Create(violations_, other, source_);
  ASSERT_TRUE(strict.ok());
  Run([&](const JobEvent& event) { (*strict)->OnEvent(event); });
  ASSERT_THAT(violations_.list(), Not(IsEmpty()));
  EXPECT_THAT(violations_.list()[0], HasSubstr("I4: the gradient of step 0"));
}

}  // namespace
}  // namespace motley
