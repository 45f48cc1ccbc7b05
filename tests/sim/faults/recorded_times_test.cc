// SPDX-License-Identifier: Apache-2.0
// Runs are recorded in the simulator and replayed in it. The true profiles are known.
#include "sim/faults/recorded_times.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "runtime/run_recorder.h"
#include "sim/sim_cluster.h"
#include "transport/wire/header.h"

namespace motley {
namespace {

using testing::IsEmpty;

SimOptions Cluster(const char* code, uint32_t tolerate) {
  SimOptions options;
  options.job.model = {"softmax", 2000, 10};  // A gradient has 80 kB.
  options.job.workers = 4;
  options.job.batch = 512;
  options.job.steps = 60;
  options.job.code = code;
  options.job.tolerate = tolerate;
  options.job.slice_length = 4096;
  options.job.measure_links = true;
  double speed = 1000;
  for (const double latency : {0.001, 0.004, 0.02, 0.002}) {
    WorkerProfile worker;
    worker.device = {.samples_per_second = speed,
                     .overhead_seconds = 0.002,
                     .jitter = 0.05,
                     .tail_probability = 0.002,
                     .tail_factor = 8};
    worker.link = {latency, 1e6, LinkDirection{latency, 2e6}};
    options.cluster.workers.push_back(worker);
    speed *= 1.5;
  }
  return options;
}

struct Recording {
  SimResult result;
  ClusterProfile profile;
  RunTrace trace;
};

// Parses the recorder's output line by line.
RunTrace TraceOf(const std::string& text, uint64_t steps, uint32_t workers) {
  RunTrace trace;
  trace.steps = steps;
  trace.workers = workers;
  trace.cells.resize(steps * workers);
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);  // Skips the names of the columns.
  while (std::getline(lines, line)) {
    const auto parsed = ParseRunTraceLine(line);
    EXPECT_TRUE(parsed.ok()) << parsed.status().ToString();
    if (!parsed.ok()) continue;
    RunTrace::Cell& cell = trace.cells[parsed->step * workers + parsed->worker];
    cell.seconds_per_sample = parsed->compute_seconds / static_cast<double>(parsed->samples);
    if (parsed->vector_seconds > 0) {
      cell.bytes_per_second = static_cast<double>(parsed->vector_bytes) / parsed->vector_seconds;
    }
  }
  return trace;
}

class ReplayTest : public testing::Test {
 protected:
  Recording Record(const SimOptions& options) { return Record(options, data_); }
  Recording Record(const SimOptions& options, const Dataset& data) {
    std::string text;
    RunRecorder recorder({}, [&](std::string_view more) { text += more; });
    const auto result = Simulate(options, data, &recorder);
    EXPECT_TRUE(result.ok()) << result.status().ToString();
    EXPECT_THAT(result->violations, IsEmpty());
    EXPECT_TRUE(result->job.status.ok()) << result->job.status.ToString();
    recorder.Finish();
    return {*result, recorder.Profile(), TraceOf(text, options.job.steps, options.job.workers)};
  }
  const Dataset data_ = MakeSyntheticDataset(1024, 2000, 10, 1);
};

TEST_F(ReplayTest, AReplayedRunTakesWhatTheRecordedOneTook) {
  SimOptions options = Cluster("none", 0);
  options.job.shares = Shares::kEqual;  // Rows stay the same, whatever the job learns.
  options.job.steps = 45;
  const Recording first = Record(options);
  options.seed += 1;  // The seed must not matter: a replay draws no noise.
  options.replay = std::make_shared<RunTimes>(first.trace);
  const Recording again = Record(options);
  auto recorded = first.result.job.step_seconds;
  const auto& replayed = again.result.job.step_seconds;
  ASSERT_EQ(recorded.size(), replayed.size());
  // The job ends with the last vector of its last step. The worker reports its computing time after
  // that, so nobody records it.
  int untold = 0;
  for (WorkerId w = 0; w < 4; ++w) {
    untold += first.trace.At(recorded.size() - 1, w).seconds_per_sample == 0;
  }
  EXPECT_EQ(untold, 1);
  recorded.pop_back();
  // Times are written in whole nanoseconds, and apply to 128 samples or 64 kB of a vector.
  for (size_t step = 0; step < recorded.size(); ++step) {
    EXPECT_NEAR(replayed[step], recorded[step], 1e-7) << step;
  }
}

TEST_F(ReplayTest, ReplaysAreTheSameEveryTime) {
  const Dataset data = MakeSyntheticDataset(512, 500, 10, 1);
  for (const char* code : {"none", "heterogeneous", "adaptive"}) {
    SimOptions options = Cluster(code, 1);
    options.job.model.features = 500;
    options.job.slice_length = 1024;
    options.job.steps = 30;
    options.replay = std::make_shared<RunTimes>(Record(options, data).trace);
    options.replay_from = 17;  // The recording starts again after its end.
    const Recording first = Record(options, data);
    EXPECT_EQ(Record(options, data).result.digest, first.result.digest) << code;
  }
}

TEST_F(ReplayTest, AProfileIsLearnedFromARun) {
  const SimOptions options = Cluster("none", 0);
  const ClusterProfile learned = Record(options).profile;
  ASSERT_EQ(learned.workers.size(), 4U);
  for (size_t i = 0; i < 4; ++i) {
    const WorkerProfile& truth = options.cluster.workers[i];
    const WorkerProfile& found = learned.workers[i];
    // Compares the time of a piece: shares hardly change, so overhead and speed cannot be
    // separated.
    const double samples = 32;
    const double told = found.device.overhead_seconds + samples / found.device.samples_per_second;
    const double true_seconds =
        truth.device.overhead_seconds + samples / truth.device.samples_per_second;
    EXPECT_NEAR(told / true_seconds, 1, 0.1) << i;
    EXPECT_GT(found.device.jitter, 0.02) << i;
    EXPECT_LT(found.device.jitter, 0.12) << i;
    // The measured latency includes the time of a control frame, averaged over both ways. The frame
    // has a header and less than 64 bytes.
    const double word = (kHeaderSize + 64) * (1 / 1e6 + 1 / 2e6) / 2;
    EXPECT_GE(found.link.Up().latency_seconds, truth.link.latency_seconds) << i;
    EXPECT_LE(found.link.Up().latency_seconds, truth.link.latency_seconds + word) << i;
    EXPECT_NEAR(found.link.Up().bytes_per_second / 1e6, 1, 0.1) << i;
    EXPECT_NEAR(found.link.Down().bytes_per_second / 2e6, 1, 0.1) << i;
  }
}

// Steps without a line keep the times recorded before. Workers beyond the recording keep those of
// their profile.
TEST_F(ReplayTest, GapsAreFilled) {
  SimOptions options = Cluster("none", 0);
  // Each worker has 127 to 129 samples, in pieces of 32.
  options.job.shares = Shares::kEqual;
  options.job.steps = 12;
  for (WorkerProfile& worker : options.cluster.workers) {
    worker.device.jitter = worker.device.tail_probability = 0;
  }
  RunTrace trace;
  trace.steps = 4;
  trace.workers = 1;
  trace.cells = {{.seconds_per_sample = 0.0015}, {}, {}, {}};  // The profile has 0.00106.
  options.replay = std::make_shared<RunTimes>(trace);
  const Recording run = Record(options);
  for (size_t step = 1; step + 1 < options.job.steps; ++step) {  // Step 0 waits for data.
    EXPECT_NEAR(run.trace.At(step, 0).seconds_per_sample, 0.0015, 1e-9) << step;
    for (WorkerId w = 1; w < 4; ++w) {
      const DeviceProfile& device = options.cluster.workers[w].device;
      const double modelled = device.overhead_seconds / 32 + 1 / device.samples_per_second;
      EXPECT_NEAR(run.trace.At(step, w).seconds_per_sample, modelled, 1e-6) << step << ' ' << w;
    }
    // Samples take 192 ms and perhaps 1.5 ms for one more, parameters 40 ms, the vector 80 ms, and
    // latency twice 1 ms. Headers and control messages take less than 1 % more.
    EXPECT_GT(run.result.job.step_seconds[step], 0.3125) << step;
    EXPECT_LT(run.result.job.step_seconds[step], 0.3185) << step;
  }
}

// Each worker and step has its own start-up time and pace. Some workers are slow for several steps.
class DrawnTimes final : public RecordedTimes {
 public:
  DrawnTimes(Random& random, uint64_t steps, uint32_t workers) : steps_(steps), workers_(workers) {
    for (uint32_t w = 0; w < workers; ++w) {
      const double pace = 1e-4 * std::exp(random.Normal());
      uint64_t slow = 0;
      for (uint64_t step = 0; step < steps; ++step) {
        if (slow > 0) --slow;
        if (random.Chance(0.1)) slow = 1 + random.Below(6);
        const double times = (slow > 0 ? 8 : 1) * (1 + 0.2 * random.NextDouble());
        cells_.push_back({0.01 * random.NextDouble() * times, pace * times});
      }
    }
  }

  uint64_t steps() const override { return steps_; }
  uint32_t workers() const override { return workers_; }
  std::function<double(double)> Compute(uint64_t step, WorkerId worker) const override {
    return [cell = cells_[worker * steps_ + step]](double samples) {
      return cell.start + cell.pace * samples;
    };
  }
  double BytesPerSecond(uint64_t, WorkerId) const override { return 0; }
  double LongestSeconds(double samples) const override { return 1 + samples * 0.1; }

 private:
  struct Cell {
    double start = 0, pace = 0;
  };
  uint64_t steps_;
  uint32_t workers_;
  std::vector<Cell> cells_;
};

TEST(IdealOfAReplay, NoExactSchemeEndsAStepSooner) {
  Random random(20, Stream::kTest);
  for (int trace = 0; trace < 6; ++trace) {
    const auto workers = static_cast<uint32_t>(3 + random.Below(10));
    SimOptions options;
    options.replay = std::make_shared<DrawnTimes>(random, 20, workers);
    options.replay_from = random.Below(20);
    options.job.workers = workers;
    options.job.batch = static_cast<uint32_t>(100 + random.Below(400));
    options.job.steps = 30;
    options.samples = 1500;  // The last batch of an epoch may be smaller.
    options.trainer = SimTrainer::kCostOnly;
    options.cluster.gradient_bytes = 4000;
    options.cluster.workers.resize(workers);
    for (WorkerProfile& worker : options.cluster.workers) {
      worker.device.samples_per_second = 5000;
    }
    for (const char* code : {"none", "repetition", "heterogeneous", "rs", "short", "multi-message",
                             "partial-coded", "adaptive", "auto"}) {
      SCOPED_TRACE(fmt::format("trace {}, {}", trace, code));
      options.job.code = code;
      options.job.tolerate = std::string_view(code) == "none" ? 0 : 1;
      const auto result = Simulate(options, Dataset(), nullptr);
      ASSERT_TRUE(result.ok()) << result.status().ToString();
      EXPECT_THAT(result->violations, IsEmpty());
      const std::vector<double>& took = result->job.step_seconds;
      ASSERT_EQ(took.size(), 30U);
      ASSERT_GE(result->ideal_seconds.size(), took.size());
      double sum = 0;
      for (size_t step = 0; step < took.size(); ++step) {
        EXPECT_GE(took[step], result->ideal_seconds[step]) << step;
        sum += result->ideal_seconds[step];
      }
      EXPECT_NEAR(result->ideal_step_seconds, sum / 30, 1e-12);
    }
  }
}

TEST(IdealOfAReplay, IsWhatPerfectSharesTake) {
  std::vector<StepSpeed> workers(3);
  workers[0].compute = [](double samples) { return 1 + samples * 0.5; };
  workers[1].compute = [](double samples) { return samples * 0.25; };
  workers[2].compute = [](double samples) { return 100 + samples; };  // Begins too late to help.
  // One worker computes 2 samples a second from 1 s on, and one computes 4 a second: 10 s.
  for (const double guess : {1e-6, 1.0, 1e6}) {
    EXPECT_NEAR(IdealSeconds(workers, 58, guess), 10, 0.02);
    EXPECT_LE(IdealSeconds(workers, 58, guess), 10);
  }
  workers[2].compute = nullptr;
  workers[2].samples_per_second = 6;
  EXPECT_NEAR(IdealSeconds(workers, 58, 1), 5, 0.01);
  workers[1].devices = 2;
  EXPECT_NEAR(IdealSeconds(workers, 58, 1), 60.0 / 16, 0.01);
}

TEST(IdealOfAReplay, LeavesWorkersTheTimeOfTheirLinks) {
  std::vector<StepSpeed> workers(2);
  for (StepSpeed& worker : workers) {
    worker.samples_per_second = 10;
    worker.latency_seconds = 1;
    worker.up_seconds = 3;
    worker.down_seconds = 4;
  }
  // One worker owns the vector and computes for 10 s, the other one for 5 s.
  EXPECT_NEAR(IdealSeconds(workers, 150, 1), 10, 0.02);
  EXPECT_LE(IdealSeconds(workers, 150, 1), 10);
}

}  // namespace
}  // namespace motley
