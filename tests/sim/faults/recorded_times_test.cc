// SPDX-License-Identifier: Apache-2.0
// Runs are recorded in the simulator, whose truth is known, and replayed in it.
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
  options.job.model = {"softmax", 2000, 10};  // 80 kB.
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

// What the recorder writes, read line by line.
RunTrace TraceOf(const std::string& text, uint64_t steps, uint32_t workers) {
  RunTrace trace;
  trace.steps = steps;
  trace.workers = workers;
  trace.cells.resize(steps * workers);
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);  // The columns.
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
  options.job.shares = Shares::kEqual;  // The same rows, whatever was learned before.
  options.job.steps = 45;
  const Recording first = Record(options);
  options.seed += 1;  // Noise is no longer drawn.
  options.replay = std::make_shared<RunTimes>(first.trace);
  const Recording again = Record(options);
  auto recorded = first.result.job.step_seconds;
  const auto& replayed = again.result.job.step_seconds;
  ASSERT_EQ(recorded.size(), replayed.size());
  // The job is over as soon as its last step has its last vector: what computing that took is told
  // behind it, to nobody.
  int untold = 0;
  for (WorkerId w = 0; w < 4; ++w) {
    untold += first.trace.At(recorded.size() - 1, w).seconds_per_sample == 0;
  }
  EXPECT_EQ(untold, 1);
  recorded.pop_back();
  // Times are written as whole nanoseconds: of 128 samples, of 64 kB of a vector.
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
    options.replay_from = 17;  // And on from the beginning.
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
    // Of a piece: shares that hardly change do not tell overhead and speed apart.
    const double samples = 32;
    const double told = found.device.overhead_seconds + samples / found.device.samples_per_second;
    const double true_seconds =
        truth.device.overhead_seconds + samples / truth.device.samples_per_second;
    EXPECT_NEAR(told / true_seconds, 1, 0.1) << i;
    EXPECT_GT(found.device.jitter, 0.02) << i;
    EXPECT_LT(found.device.jitter, 0.12) << i;
    // A word takes its frame's time both ways besides: a header and less than 64 bytes.
    const double word = (kHeaderSize + 64) * (1 / 1e6 + 1 / 2e6) / 2;
    EXPECT_GE(found.link.Up().latency_seconds, truth.link.latency_seconds) << i;
    EXPECT_LE(found.link.Up().latency_seconds, truth.link.latency_seconds + word) << i;
    EXPECT_NEAR(found.link.Up().bytes_per_second / 1e6, 1, 0.1) << i;
    EXPECT_NEAR(found.link.Down().bytes_per_second / 2e6, 1, 0.1) << i;
  }
}

// Steps without a line keep what was recorded before; workers beyond the recording, their profile.
TEST_F(ReplayTest, GapsAreFilled) {
  SimOptions options = Cluster("none", 0);
  options.job.shares = Shares::kEqual;  // 128 samples each, or one more or less,
                                        // in pieces of 32.
  options.job.steps = 12;
  for (WorkerProfile& worker : options.cluster.workers) {
    worker.device.jitter = worker.device.tail_probability = 0;
  }
  RunTrace trace;
  trace.steps = 4;
  trace.workers = 1;
  trace.cells = {{.seconds_per_sample = 0.0015}, {}, {}, {}};  // By its profile: 0.00106.
  options.replay = std::make_shared<RunTimes>(trace);
  const Recording run = Record(options);
  for (size_t step = 1; step + 1 < options.job.steps; ++step) {  // Before the first, data travel.
    EXPECT_NEAR(run.trace.At(step, 0).seconds_per_sample, 0.0015, 1e-9) << step;
    for (WorkerId w = 1; w < 4; ++w) {
      const DeviceProfile& device = options.cluster.workers[w].device;
      const double modelled = device.overhead_seconds / 32 + 1 / device.samples_per_second;
      EXPECT_NEAR(run.trace.At(step, w).seconds_per_sample, modelled, 1e-6) << step << ' ' << w;
    }
    // 192 ms and 1.5 ms for a sample, 40 ms for the parameters to it, 80 ms for its vector, twice a
    // latency of 1 ms; less than 1 % more for headers and control messages.
    EXPECT_GT(run.result.job.step_seconds[step], 0.3125) << step;
    EXPECT_LT(run.result.job.step_seconds[step], 0.3185) << step;
  }
}

// Each worker and step has a start-up and a pace of its own; some are slow, for several steps.
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
  // Two samples a second from 1 s on, and four: 10 s.
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

}  // namespace
}  // namespace motley
