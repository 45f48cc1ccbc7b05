// SPDX-License-Identifier: Apache-2.0
// Cost-only simulations take the time of a model that is not there, and still check sums.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "base/random.h"
#include "sim/checkers/gradient_checker.h"
#include "sim/sim_cluster.h"

namespace motley {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The times at which each step was opened and its update applied.
class Times final : public JobObserver {
 public:
  void OnEvent(const JobEvent& event) override {
    if (const auto* opened = std::get_if<event::StepOpened>(&event)) list.push_back(opened->now);
    if (const auto* applied = std::get_if<event::StepApplied>(&event)) list.push_back(applied->now);
  }
  std::vector<Time> list;
};

SimOptions Cluster(const char* code, uint32_t tolerate) {
  SimOptions options;
  options.job.workers = 5;
  options.job.batch = 64;
  options.job.steps = 40;
  options.job.code = code;
  options.job.tolerate = tolerate;
  options.job.optimizer.learning_rate = 0.01;
  for (const double speed : {100.0, 80.0, 50.0, 100.0, 25.0}) {
    WorkerProfile worker;
    worker.device = {.samples_per_second = speed, .overhead_seconds = 0.002, .jitter = 0.1};
    worker.link = {.latency_seconds = 1e-3, .bytes_per_second = 200e3};
    options.cluster.workers.push_back(worker);
  }
  return options;
}

std::vector<Time> TimesOf(const SimOptions& options, const Dataset& data) {
  Times times;
  const auto result = Simulate(options, data, &times);
  EXPECT_TRUE(result.ok()) << result.status().ToString();
  if (!result.ok()) return {};
  EXPECT_TRUE(result->job.status.ok()) << result->job.status.ToString();
  EXPECT_THAT(result->violations, IsEmpty());
  EXPECT_EQ(result->job.steps, options.job.steps);
  return times.list;
}

class CostOnlyTest : public testing::Test {
 protected:
  // A cost-only job that takes as long as least squares on `data`.
  static SimOptions Of(SimOptions options, const Dataset& data) {
    options.trainer = SimTrainer::kCostOnly;
    options.calibrated = false;
    options.cluster.gradient_bytes = (data.features + 1) * sizeof(float);
    return options;
  }
};

class CostOnlySteps : public CostOnlyTest {
 protected:
  // `times` is the number of recorded times of each of the 40 steps.
  static void ExpectSameTimes(const char* code, uint32_t features, size_t times) {
    const Dataset data = MakeSyntheticDataset(200, features, 0, 5);
    SimOptions options = Cluster(code, 1);
    options.job.slice_length = 512;
    options.socket_buffer_bytes = 4096;
    options.link_jitter_seconds = 1e-4;
    options.job.optimizer.learning_rate = 1e-6;
    options.job.grant_sends = false;  // No link is measured: a probe is a part of another vector.
    options.trainer = SimTrainer::kSquares;
    const std::vector<Time> real = TimesOf(options, data);
    EXPECT_EQ(real.size(), 40 * times);
    EXPECT_EQ(real, TimesOf(Of(options, data), data)) << code << ", " << features << " features";
  }
};

TEST_F(CostOnlySteps, EndWhenThoseOfRealArithmeticWould) {
  // The vectors have three slices, one slice, and a full slice with one float in the second.
  for (const uint32_t features : {1500u, 300u, 1023u}) {
    for (const char* code : {"none", "repetition", "cyclic", "heterogeneous", "rs", "short"}) {
      ExpectSameTimes(code, features, 2);
    }
  }
}

TEST_F(CostOnlySteps, EndSoAlsoWhereTheyAreOpenedTwice) {
  for (const uint32_t features : {1500u, 300u}) ExpectSameTimes("partial-coded", features, 3);
}

TEST_F(CostOnlyTest, FaultsHitItAtTheSameTimes) {
  const Dataset data = MakeSyntheticDataset(200, 700, 0, 5);
  SimOptions options = Cluster("heterogeneous", 1);
  options.job.optimizer.learning_rate = 1e-6;
  options.trainer = SimTrainer::kSquares;
  // Pauses are left out: after one, a caller's trainer sends an extra report of its progress.
  options.random_faults = {
      .kill_every = 8, .restart = 1, .slow_every = 4, .partition_every = 5, .until_seconds = 20};
  for (options.seed = 1; options.seed < 6; ++options.seed) {
    const std::vector<Time> real = TimesOf(options, data);
    EXPECT_GE(real.size(), 80u);
    EXPECT_EQ(real, TimesOf(Of(options, data), data)) << "seed " << options.seed;
  }
}

// A caller's trainer cannot be measured before its first step.
TEST_F(CostOnlyTest, LeasesBeginSwiftlyWhereNoSpeedIsKnown) {
  const Dataset data = MakeSyntheticDataset(2000, 4, 0, 5);
  SimOptions options = Cluster("adaptive", 1);
  options.job.batch = 1000;
  options.trainer = SimTrainer::kCostOnly;
  options.cluster.gradient_bytes = 4000;
  for (const bool calibrated : {true, false}) {
    options.calibrated = calibrated;
    for (WorkerProfile& worker : options.cluster.workers) {
      worker.device = {.samples_per_second = 40'000};
      worker.link = {.latency_seconds = 1e-4};
    }
    const auto result = Simulate(options, data, nullptr);
    ASSERT_TRUE(result.ok());
    EXPECT_LT(result->job.step_seconds.front(), 0.1) << calibrated << ": 1000 samples at 200,000/s";
  }
}

// The straggler's first partition takes nearly the whole step, so it may not begin a second one.
TEST_F(CostOnlyTest, ASuddenStragglerBeginsNothingMore) {
  const Dataset data = MakeSyntheticDataset(4096, 4, 0, 5);
  SimOptions options = Cluster("adaptive", 1);
  options.cluster.workers.clear();
  for (const double speed : {2, 2, 4, 4, 8, 8, 8, 12}) {
    WorkerProfile worker;
    worker.device = {.samples_per_second = speed * 7000};
    worker.link = {.latency_seconds = 1e-5};
    options.cluster.workers.push_back(worker);
  }
  options.job.workers = 8;
  options.job.batch = 4096;
  options.trainer = SimTrainer::kCostOnly;
  options.cluster.gradient_bytes = 4000;
  options.faults = {*ParseFault("slow:0@step=12,5x"), *ParseFault("slow:0@step=13,0.2x")};
  const auto result = Simulate(options, data, nullptr);
  ASSERT_TRUE(result.ok());
  EXPECT_LT(result->job.step_seconds[12], 1.2 * result->ideal_step_seconds);
}

// Links of all widths, from those that carry a vector in a tenth of the work's time to those that
// take ten times as long.
TEST_F(CostOnlyTest, NoExactSchemeEndsAStepBeforeTheIdeal) {
  const Dataset data = MakeSyntheticDataset(1024, 4, 0, 5);
  Random random(5, Stream::kTest);
  for (int cluster = 0; cluster < 6; ++cluster) {
    SimOptions options = Cluster("none", 0);
    options.job.steps = 15;
    options.trainer = SimTrainer::kCostOnly;
    options.cluster.gradient_bytes = 40'000;
    for (WorkerProfile& worker : options.cluster.workers) {
      worker.device = {.samples_per_second = 200 + 800 * random.NextDouble()};
      worker.link.bytes_per_second = 4e6 * std::exp(4 * random.NextDouble() - 2);
      worker.link.down = worker.link.Up();
      worker.link.down->bytes_per_second *= 1 + 3 * random.NextDouble();
    }
    for (const char* code :
         {"none", "repetition", "short", "multi-message", "partial-coded", "adaptive", "auto"}) {
      SCOPED_TRACE(fmt::format("cluster {}, {}", cluster, code));
      options.job.code = code;
      options.job.tolerate = std::string_view(code) == "none" ? 0 : 1;
      const auto result = Simulate(options, data, nullptr);
      ASSERT_TRUE(result.ok()) << result.status().ToString();
      EXPECT_GT(result->ideal_step_seconds, 0);
      for (const double seconds : result->job.step_seconds) {
        EXPECT_GE(seconds, result->ideal_step_seconds);
      }
    }
  }
}

// A worker that is slow in every other step must not keep the share of its usual speed.
TEST_F(CostOnlyTest, AWorkerSlowInEveryOtherStepGetsLess) {
  const Dataset data = MakeSyntheticDataset(4096, 4, 0, 5);
  constexpr uint64_t kFirst = 12, kLearned = 60, kSteps = 120;
  SimOptions options = Cluster("none", 0);
  options.job.batch = 4096;
  options.job.steps = kSteps;
  options.trainer = SimTrainer::kCostOnly;
  options.cluster.gradient_bytes = 4000;
  for (WorkerProfile& worker : options.cluster.workers) {
    worker.device = {.samples_per_second = 7000};
    worker.link = {.latency_seconds = 1e-5};
  }
  for (const uint64_t hiccup : {uint64_t{0}, kFirst + 7}) {
    options.faults.clear();
    for (uint64_t step = kFirst; step < kSteps; ++step) {
      const bool begins = (step - kFirst) % 2 == 0 && step != hiccup + 1;
      const bool ends = (step - kFirst) % 2 == 1 && step != hiccup;
      if (!begins && !ends) continue;
      const char* times = begins ? "2x" : "0.5x";
      options.faults.push_back(*ParseFault(fmt::format("slow:0@step={},{}", step, times)));
    }
    const auto result = Simulate(options, data, nullptr);
    ASSERT_TRUE(result.ok()) << result.status().ToString();
    const std::vector<double>& steps = result->job.step_seconds;
    const double sum = std::accumulate(steps.begin() + kLearned, steps.end(), 0.0);
    // With the usual share a step would take 1.5 times the ideal. It cannot be faster than with a
    // worker at half speed all the time, which takes 10 / 9.
    EXPECT_LT(sum / (kSteps - kLearned), 1.35 * result->ideal_step_seconds);
    EXPECT_GT(sum / (kSteps - kLearned), 1.05 * result->ideal_step_seconds);
  }
}

TEST_F(CostOnlyTest, TheSameSeedGivesTheSameDigest) {
  const Dataset data = MakeSyntheticDataset(300, 4, 0, 5);
  SimOptions options = Cluster("rs", 2);
  options.trainer = SimTrainer::kCostOnly;
  options.cluster.gradient_bytes = 3'000'000;
  const auto one = Simulate(options, data, nullptr);
  const auto two = Simulate(options, data, nullptr);
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_EQ(one->digest, two->digest);
  EXPECT_LT(one->serial_difference, 1e-4);
  options.seed = 2;
  EXPECT_NE(Simulate(options, data, nullptr)->digest, one->digest);
}

TEST_F(CostOnlyTest, LongerVectorsTakeLongerOnTheLinks) {
  const Dataset data = MakeSyntheticDataset(300, 4, 0, 5);
  SimOptions options = Cluster("none", 0);
  for (WorkerProfile& worker : options.cluster.workers) worker.device.jitter = 0;
  options.trainer = SimTrainer::kCostOnly;
  const auto step_seconds = [&](uint64_t bytes) {
    options.cluster.gradient_bytes = bytes;
    const std::vector<Time> times = TimesOf(options, data);
    return ToSeconds(times.back() - times[times.size() - 2]);
  };
  // The vector travels both ways at 200 kB/s.
  EXPECT_NEAR(step_seconds(400'000) - step_seconds(200'000), 2.0, 0.1);
}

// Sending a gradient takes thirty times as long as computing a share of it.
TEST_F(CostOnlyTest, OnAThinLinkShortAnswersBeatNoneAndRepetition) {
  const Dataset data = MakeSyntheticDataset(600, 4, 0, 5);
  const auto seconds = [&](const char* code, uint32_t tolerate, uint32_t parts) {
    SimOptions options;
    options.job.workers = 8;
    options.job.batch = 256;
    options.job.steps = 20;
    options.job.code = code;
    options.job.tolerate = tolerate;
    options.job.parts = parts;
    options.trainer = SimTrainer::kCostOnly;
    options.cluster.gradient_bytes = 1'000'000;
    options.cluster.workers.resize(8);
    for (WorkerProfile& worker : options.cluster.workers) {
      worker.device = {.samples_per_second = 1000, .overhead_seconds = 1e-3, .jitter = 0.2};
      worker.device.tail_probability = 0.02;
      worker.device.tail_factor = 10;
      worker.link = {1e-3, 1e6, LinkDirection{1e-3, 10e6}};
    }
    const std::vector<Time> times = TimesOf(options, data);
    return ToSeconds(times.back() - times.front()) / static_cast<double>(options.job.steps);
  };
  const double none = seconds("none", 0, 1);
  const double repetition = seconds("repetition", 1, 1);
  const double half = seconds("short", 1, 2);
  EXPECT_LT(half, 0.75 * none);
  EXPECT_LT(half, 0.75 * repetition);
  EXPECT_LT(seconds("short", 0, 3), 0.75 * none);
}

// 255 workers with three copies form whole groups. One more worker must not break them up: 256
// workers would be 1.6 times as slow.
TEST_F(CostOnlyTest, OneWorkerMoreDoesNotUndoTheGroupsOfCopies) {
  const auto seconds = [&](uint32_t workers) {
    SimOptions options;
    options.job.workers = workers;
    options.job.batch = 16 * workers;
    options.job.steps = 25;
    options.job.code = "repetition";
    options.job.tolerate = 2;
    options.samples = options.job.batch;
    options.trainer = SimTrainer::kCostOnly;
    options.cluster.gradient_bytes = 4000;
    options.cluster.workers.resize(workers);
    for (WorkerProfile& worker : options.cluster.workers) {
      worker.device = {.samples_per_second = 1000, .jitter = 0.1};
      worker.device.tail_probability = 0.01;
      worker.device.tail_factor = 5;
      worker.link = {.latency_seconds = 1e-4};
    }
    const auto result = Simulate(options, Dataset(), nullptr);
    EXPECT_TRUE(result.ok()) << result.status().ToString();
    EXPECT_THAT(result->violations, IsEmpty());
    const std::vector<double>& steps = result->job.step_seconds;
    return std::accumulate(steps.begin() + 5, steps.end(), 0.0);
  };
  EXPECT_LT(seconds(256), 1.1 * seconds(255));
}

TEST_F(CostOnlyTest, SamplesThatAreCountedOnlyTakeTheirTime) {
  SimOptions options = Cluster("none", 0);
  options.job.steps = 5;
  options.job.batch = 20'000'003;
  options.samples = 30'000'000;
  options.max_virtual_seconds = 1e8;
  options.trainer = SimTrainer::kCostOnly;
  options.cluster.gradient_bytes = 4000;
  const auto result = Simulate(options, Dataset(), nullptr);
  ASSERT_TRUE(result.ok()) << result.status().ToString();
  EXPECT_THAT(result->violations, IsEmpty());
  ASSERT_EQ(result->job.steps, 5U);
  // Three steps have 20,000,003 samples and two have the rest; all workers compute 355 a second.
  const double least = (3 * 20'000'003.0 + 2 * 9'999'997.0) / 355;
  EXPECT_GT(result->virtual_seconds, least);
  EXPECT_LT(result->virtual_seconds, 1.5 * least);
  options.trainer = SimTrainer::kBuiltIn;
  EXPECT_EQ(Simulate(options, Dataset(), nullptr).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(CostOnlyTest, WithoutALengthItIsRefused) {
  const Dataset data = MakeSyntheticDataset(300, 4, 0, 5);
  SimOptions options = Cluster("none", 0);
  options.trainer = SimTrainer::kCostOnly;
  const auto result = Simulate(options, data, nullptr);
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.status().ToString(), HasSubstr("gradient_bytes"));
}

// A server decodes such sums if an answer was lost, counted twice, or belongs to another step.
TEST_F(CostOnlyTest, AWrongSumIsReported) {
  const Dataset data = MakeSyntheticDataset(120, 4, 0, 5);
  const MemorySource source(data);
  const BatchSchedule schedule(7, PartitionSizes(120, *PartitionCount(120, 2)), 30);
  const auto quadratic = std::make_shared<Quadratic>(7, schedule);
  JobOptions job;
  job.workers = 2;
  job.batch = 30;
  job.seed = 7;
  job.foreign = MakeQuadraticTrainer(quadratic, 3);
  const std::vector<float> parameters(3, 0.0f);
  const auto report = [&](StepId step, PartitionId begin, PartitionId end) {
    std::vector<double> sum(3, 0);
    const double loss = quadratic->Add(step, parameters, begin, end, 1, sum).loss;
    const std::vector<float> gradient(sum.begin(), sum.end());
    Violations violations;
    auto checker = GradientChecker::Create(violations, job, source, quadratic);
    EXPECT_TRUE(checker.ok());
    (*checker)->OnEvent(event::StepDecoded{0, {gradient, loss, 30}, parameters, Time{}});
    return violations.list();
  };
  const uint32_t all = quadratic->partitions();
  EXPECT_THAT(report(0, 0, all), IsEmpty());
  const auto wrong =
      ElementsAre(HasSubstr("I4: the gradient of step 0"), HasSubstr("I4: the loss of step 0"));
  EXPECT_THAT(report(1, 0, all), wrong);
  PartitionId last = all;
  while (schedule.Ranges(0)[last - 1].count == 0) --last;
  EXPECT_THAT(report(0, 0, last - 1), wrong);
}

}  // namespace
}  // namespace motley
