// SPDX-License-Identifier: Apache-2.0
// Jobs whose rate follows the samples of an update, where steps end without some of the workers.
// Each job is held to a sequential training in double precision.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "tests/runtime/job_world.h"
#include "tests/training/reference.h"

namespace motley {
namespace {

constexpr double kRateFor = 128;  // Samples.

class ScaledRateJob : public testing::Test {
 protected:
  // Each step ends with the answers of three of four workers.
  static JobOptions Options() {
    JobOptions options = JobWorld::Options(4, "approximate");
    options.tolerate = 0;
    options.quorum = 3;
    options.audit_fraction = 0;
    options.steps = 30;
    options.batch = 90;  // The last one of an epoch has 60 samples.
    options.optimizer.schedule = "constant:linear=128";
    return options;
  }

  void Run(const JobOptions& options) {
    JobWorld world(options);
    const uint32_t partitions = PartitionCount(world.data.rows(), options.workers).value();
    const BatchSchedule schedule(options.seed, PartitionSizes(world.data.rows(), partitions),
                                 options.batch);
    std::optional<ApproximateSum> approximate;
    std::vector<double> values;
    world.watcher.on_event = [&](const JobEvent& event) {
      if (const auto* ended = std::get_if<event::StepApproximated>(&event)) {
        approximate = ended->sum;
      } else if (const auto* decoded = std::get_if<event::StepDecoded>(&event)) {
        if (values.empty()) values.assign(decoded->parameters.size(), 0);  // Softmax starts at 0.
        Update(world, schedule, decoded->step, approximate, values);
        approximate.reset();
      }
    };
    world.StartServer();
    world.StartWorkers();
    const JobResult& end = world.Run();
    ASSERT_TRUE(end.status.ok()) << end.status.ToString();
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_NEAR(end.parameters->at(i), values[i], 2e-5) << i;
    }
  }

  // The update by the samples that were there: without copies these count alike.
  void Update(const JobWorld& world, const BatchSchedule& schedule, StepId step,
              const std::optional<ApproximateSum>& approximate, std::vector<double>& values) {
    const std::vector<uint32_t> rows = schedule.Rows(step);
    const std::vector<BatchSchedule::Range> ranges = schedule.Ranges(step);
    std::vector<double> gradient(values.size());
    double counted = 0;
    size_t begin = 0;
    for (size_t p = 0; p < ranges.size(); ++p) {
      const double alpha = approximate ? approximate->coverage[p] : 1;
      const std::vector<uint32_t> own(rows.begin() + begin, rows.begin() + begin + ranges[p].count);
      begin += own.size();
      if (own.empty() || alpha < 1e-9) continue;
      counted += static_cast<double>(own.size());
      std::vector<double> sum(values.size());
      reference::LossAndGradient(world.options.model, values, Select(world.data, own), sum);
      for (size_t i = 0; i < sum.size(); ++i) gradient[i] += alpha * sum[i];
    }
    if (counted < static_cast<double>(rows.size())) ++partial_;
    const double rate = world.options.optimizer.learning_rate * counted / kRateFor;
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] -= rate * gradient[i] / static_cast<double>(rows.size());
    }
  }

  int partial_ = 0;
};

TEST_F(ScaledRateJob, TheRateIsThatOfTheSamplesThatCameInTime) {
  Run(Options());
  EXPECT_GT(partial_, 5) << "some steps ended without a worker";
}

TEST_F(ScaledRateJob, TheSameHoldsWhereWorkersHaveTheVector) {
  JobOptions options = Options();
  options.holders = JobOptions::Holders::kWorkers;
  options.shards = options.workers;
  options.read_every_version = true;
  Run(options);
  EXPECT_GT(partial_, 5) << "some steps ended without a worker";
}

TEST_F(ScaledRateJob, AnExactStepHasTheRateOfItsBatch) {
  JobOptions options = Options();
  options.quorum = 0;
  Run(options);
  EXPECT_EQ(partial_, 0);
}

}  // namespace
}  // namespace motley
