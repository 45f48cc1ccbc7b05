// SPDX-License-Identifier: Apache-2.0
// Jobs with workers that take seconds for one sample. They begin soon and with all workers, and
// learn.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/sim_cluster.h"

namespace motley {
namespace {

// Records when the first step opened, and with how many rows.
class FirstStep final : public JobObserver {
 public:
  void OnEvent(const JobEvent& event) override {
    if (std::holds_alternative<event::WorkerJoined>(event)) joined += opened ? 0 : 1;
    const auto* first = std::get_if<event::StepOpened>(&event);
    if (first == nullptr || first->step > 0 || opened) return;
    opened = true;
    seconds = ToSeconds(first->now - Time{});
    rows = first->code.rows.size();
  }
  bool opened = false;
  double seconds = 0;
  size_t rows = 0;
  int joined = 0;
};

SimOptions Workers(const std::string& code, const std::vector<double>& seconds_per_sample) {
  SimOptions options;
  options.trainer = SimTrainer::kCostOnly;
  options.job.workers = static_cast<uint32_t>(seconds_per_sample.size());
  options.job.batch = 64;
  options.job.steps = 4;
  options.job.code = code;
  options.job.tolerate = 0;
  options.cluster.gradient_bytes = 40'000;
  options.max_virtual_seconds = 1e6;
  for (const double seconds : seconds_per_sample) {
    WorkerProfile worker;
    worker.device.samples_per_second = 1 / seconds;
    worker.link = {.latency_seconds = 1e-4, .bytes_per_second = 1e8};
    options.cluster.workers.push_back(worker);
  }
  return options;
}

class SlowStart : public testing::TestWithParam<const char*> {
 protected:
  JobResult Run(const SimOptions& options) {
    const auto result = Simulate(options, data_, &first_);
    EXPECT_TRUE(result.ok()) << result.status().ToString();
    if (!result.ok()) return {};
    EXPECT_THAT(result->violations, testing::IsEmpty());
    EXPECT_TRUE(result->job.status.ok()) << result->job.status.ToString();
    return result->job;
  }
  static void ExpectSpeeds(const JobResult& job, const std::vector<double>& seconds_per_sample) {
    ASSERT_EQ(job.scheduler.workers.size(), seconds_per_sample.size());
    for (size_t w = 0; w < seconds_per_sample.size(); ++w) {
      EXPECT_NEAR(job.scheduler.workers[w].speed * seconds_per_sample[w], 1, 0.2) << w;
      EXPECT_GT(job.scheduler.workers[w].samples, 0u) << w;
    }
  }

  const Dataset data_ = MakeSyntheticDataset(640, 4, 0, 5);
  FirstStep first_;
};

TEST_P(SlowStart, WorkersOfHalfASecondASampleBeginTogether) {
  const std::vector<double> seconds(4, 0.5);
  const JobResult job = Run(Workers(GetParam(), seconds));
  EXPECT_EQ(first_.joined, 4);
  EXPECT_LT(first_.seconds, 2) << "each worker measures two samples";
  ExpectSpeeds(job, seconds);
}

TEST_P(SlowStart, ASampleOf12SecondsStopsNoJob) {
  const std::vector<double> seconds(2, 12);
  const JobResult job = Run(Workers(GetParam(), seconds));
  EXPECT_LT(first_.seconds, 11);
  ExpectSpeeds(job, seconds);
}

// No speed is known when the job begins. After one step the shares follow the speeds.
TEST_P(SlowStart, UnlikeWorkersLearnTheirSpeedsFromAnswers) {
  const std::vector<double> seconds = {6, 12, 24};
  SimOptions options = Workers(GetParam(), seconds);
  options.job.steps = 8;
  const JobResult job = Run(options);
  EXPECT_LT(first_.seconds, 11);
  ExpectSpeeds(job, seconds);
  const double ideal = 64 / (1.0 / 6 + 1.0 / 12 + 1.0 / 24);
  EXPECT_LT(job.step_seconds.back(), 1.4 * ideal) << "equal shares take 2.3 times the ideal";
}

INSTANTIATE_TEST_SUITE_P(Codes, SlowStart, testing::Values("none", "adaptive", "auto"));

}  // namespace
}  // namespace motley
