// SPDX-License-Identifier: Apache-2.0
// Whole simulated jobs with steps that end before they are exact. Every invariant holds (the
// decoded sum is the reported one), steps wait for no straggler, and missing samples cause no bias.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "sim/sim_cluster.h"

namespace motley {
namespace {

using testing::IsEmpty;

constexpr double kDeadline = 0.05;

SimOptions Options(const Dataset& data, uint32_t workers, uint32_t tolerate) {
  SimOptions options;
  options.job.model = {.name = "softmax", .features = data.features, .classes = data.classes};
  options.job.workers = workers;
  options.job.batch = 32;
  options.job.steps = 60;
  options.job.code = "approximate";
  options.job.tolerate = tolerate;
  for (uint32_t i = 0; i < workers; ++i) {
    WorkerProfile worker;
    worker.device.samples_per_second = 1000;
    options.cluster.workers.push_back(worker);
  }
  return options;
}

SimResult RunJob(const SimOptions& options, const Dataset& data, JobObserver* observer = nullptr) {
  auto result = Simulate(options, data, observer);
  EXPECT_TRUE(result.ok()) << result.status().ToString();
  if (!result.ok()) return SimResult();
  EXPECT_TRUE(result->job.status.ok()) << result->job.status.ToString();
  EXPECT_THAT(result->violations, IsEmpty());
  EXPECT_EQ(result->job.steps, options.job.steps);
  return *std::move(result);
}

class ApproximateJob : public testing::Test {
 protected:
  const Dataset data_ = MakeSyntheticDataset(300, 8, 4, 3);
};

TEST_F(ApproximateJob, APausedWorkerHoldsNoStepUpForLongerThanTheDeadline) {
  SimOptions options = Options(data_, 4, 0);
  options.job.step_deadline = FromSeconds(kDeadline);
  options.faults = {*ParseFault("pause:1@step=5,2s")};
  const SimResult result = RunJob(options, data_);
  const std::vector<double>& seconds = result.job.step_seconds;
  // The first step also waits for data.
  EXPECT_LE(*std::max_element(seconds.begin() + 1, seconds.end()), kDeadline + 1e-3);
  EXPECT_GT(result.job.approximate.steps, 0u);
  EXPECT_LT(result.job.approximate.steps, 10u) << "a worker that is known to be away has no share";
  // A quarter of the samples is missing, and the others count 4/3 times.
  EXPECT_NEAR(result.job.approximate.max_error, (0.25 * 1 + 0.75 / 9), 0.02);
  EXPECT_LE(result.job.batch_loss.back(), 0.8 * result.job.batch_loss.front());
}

TEST_F(ApproximateJob, WithoutADeadlineThoseWhoAreOverdueAreLeftOut) {
  SimOptions options = Options(data_, 4, 0);
  options.faults = {*ParseFault("pause:1@step=9,2s")};
  const SimResult result = RunJob(options, data_);
  const std::vector<double>& seconds = result.job.step_seconds;
  EXPECT_LE(*std::max_element(seconds.begin() + 1, seconds.end()), 1);
  EXPECT_GT(result.job.approximate.steps, 0u);
  EXPECT_EQ(result.job.scheduler.rows_reassigned, 0u);
}

TEST_F(ApproximateJob, IsExactWhileNoMoreThanToleratedAreMissing) {
  SimOptions options = Options(data_, 4, 1);
  options.faults = {*ParseFault("pause:1@step=5,2s"), *ParseFault("kill:2@step=30")};
  const SimResult result = RunJob(options, data_);
  EXPECT_EQ(result.job.approximate.steps, 0u);
  EXPECT_LE(result.job.max_decode_error, 1e-5);
}

TEST_F(ApproximateJob, AQuorumOfMoreThanAreLeftIsThoseWhoAreLeft) {
  SimOptions options = Options(data_, 4, 0);
  options.job.quorum = 3;
  options.faults = {*ParseFault("kill:0@step=5"), *ParseFault("kill:1@step=10"),
                    *ParseFault("kill:2@step=15")};
  const SimResult result = RunJob(options, data_);
  EXPECT_EQ(result.live_workers, 1u);
  EXPECT_GT(result.job.approximate.steps, 0u);
}

TEST_F(ApproximateJob, TheAuditKnowsWhatTheSumIsOf) {
  SimOptions options = Options(data_, 5, 1);
  options.job.quorum = 2;
  options.job.audit_fraction = 1;
  for (WorkerProfile& worker : options.cluster.workers) worker.device.jitter = 0.3;
  const SimResult result = RunJob(options, data_);
  EXPECT_GT(result.job.approximate.steps, 10u);
  EXPECT_EQ(result.job.audited_steps, options.job.steps);
  EXPECT_LE(result.job.max_decode_error, 1e-5);
}

TEST_F(ApproximateJob, GoesOnFromACheckpointWithItsRecord) {
  SimOptions options = Options(data_, 5, 1);
  options.job.quorum = 2;
  for (WorkerProfile& worker : options.cluster.workers) worker.device.jitter = 0.3;
  options.job.checkpoint.every = 5;
  options.power_cuts.most = 2;
  options.power_cuts.mean_seconds = 0.4;
  const SimResult result = RunJob(options, data_);
  ASSERT_GT(result.job.first_step, 0u) << "no power cut came";
  // Without the steps of earlier incarnations the count would be lower.
  EXPECT_GT(result.job.approximate.steps, (options.job.steps - result.job.first_step) / 2);
  EXPECT_EQ(result.job.batch_loss.size(), options.job.steps);
}

TEST_F(ApproximateJob, TheSimulatedCostAloneIsCheckedLikewise) {
  SimOptions options = Options(data_, 6, 1);
  options.trainer = SimTrainer::kCostOnly;
  options.cluster.gradient_bytes = 1 << 20;
  options.job.quorum = 3;
  for (WorkerProfile& worker : options.cluster.workers) worker.device.jitter = 0.3;
  EXPECT_GT(RunJob(options, data_).job.approximate.steps, 0u);
}

// The mean of a run's decoded sums, without its first steps.
class MeanSum final : public JobObserver {
 public:
  explicit MeanSum(StepId first) : first_(first) {}

  void OnEvent(const JobEvent& event) override {
    const auto* decoded = std::get_if<event::StepDecoded>(&event);
    if (decoded == nullptr || decoded->step < first_) return;
    const std::span<const float> gradient = decoded->sum.gradient;
    sum_.resize(gradient.size());
    ++steps_;
    for (size_t i = 0; i < gradient.size(); ++i) sum_[i] += gradient[i];
  }
  size_t size() const { return sum_.size(); }
  double operator[](size_t i) const { return sum_[i] / steps_; }

 private:
  StepId first_;
  double steps_ = 0;
  std::vector<double> sum_;
};

// Runs many jobs with other stragglers in each. The parameters hardly move and every batch is the
// whole data set, so all steps have the same true sum. All workers have equal shares.
TEST_F(ApproximateJob, TheMeanOfManySumsIsTheTrueOne) {
  constexpr int kJobs = 400;
  const Dataset data = MakeSyntheticDataset(288, 8, 4, 3);
  SimOptions options = Options(data, 6, 1);
  options.job.quorum = 3;
  options.job.shares = Shares::kEqual;
  options.job.batch = static_cast<uint32_t>(data.rows());
  options.job.steps = 6;
  options.job.optimizer.learning_rate = 1e-12;
  options.job.audit_fraction = 0;
  for (WorkerProfile& worker : options.cluster.workers) worker.device.jitter = 0.3;
  std::vector<double> mean, squares;
  double mean_error = 0;
  for (int job = 0; job < kJobs; ++job) {
    options.seed = job + 1;
    MeanSum sums(2);
    const SimResult result = RunJob(options, data, &sums);
    mean_error += result.job.approximate.error_sum / static_cast<double>(options.job.steps) / kJobs;
    mean.resize(sums.size());
    squares.resize(sums.size());
    for (size_t i = 0; i < sums.size(); ++i) {
      mean[i] += sums[i] / kJobs;
      squares[i] += sums[i] * sums[i] / kJobs;
    }
  }
  options.job.code = "none";
  options.job.quorum = 0;
  MeanSum exact(0);
  RunJob(options, data, &exact);
  ASSERT_EQ(mean.size(), exact.size());
  double norm = 0, along = 0;
  for (size_t i = 0; i < mean.size(); ++i) {
    const double spread = std::sqrt(std::max(squares[i] - mean[i] * mean[i], 0.0) / kJobs);
    EXPECT_LE(std::abs(mean[i] - exact[i]), 5 * spread + 1e-5 * std::abs(exact[i])) << i;
    norm += exact[i] * exact[i];
    along += 5 * spread * std::abs(exact[i]);
  }
  // The test would notice sums that are not scaled: these are short by e / (1 + e) for error e.
  EXPECT_GT(mean_error, 0.1);
  EXPECT_LT(along / norm, mean_error / (1 + mean_error));
}

}  // namespace
}  // namespace motley
