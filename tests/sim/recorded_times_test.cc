// SPDX-License-Identifier: Apache-2.0
// Runs are recorded in the simulator, whose truth is known, and replayed in it.
#include "sim/recorded_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "runtime/run_recorder.h"
#include "sim/sim_cluster.h"

namespace motley {
namespace {

using testing::IsEmpty;

SimOptions Cluster(const char* code, uint32_t tolerate) {
  SimOptions options;
  options.job.model = {"softmax", 2000, 10};  // 80 kB.
  options.job.workers = 4;
  options.job.batch = 512;
  options.job.steps = 120;
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
  Recording Record(const SimOptions& options) {
    std::string text;
    RunRecorder recorder({}, [&](std::string_view more) { text += more; });
    const auto result = Simulate(options, data_, &recorder);
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
  const Recording first = Record(options);
  options.seed += 1;  // Noise is no longer drawn.
  options.replay = std::make_shared<RunTimes>(first.trace);
  const Recording again = Record(options);
  const auto& recorded = first.result.job.step_seconds;
  const auto& replayed = again.result.job.step_seconds;
  ASSERT_EQ(recorded.size(), replayed.size());
  // Compute times are the same to nanoseconds; the way back has its rate without frames' headers.
  for (size_t step = 0; step < recorded.size(); ++step) {
    EXPECT_NEAR(replayed[step], recorded[step], 5e-3 * recorded[step]) << step;
  }
}

TEST_F(ReplayTest, ReplaysAreTheSameEveryTime) {
  for (const char* code : {"none", "heterogeneous", "adaptive"}) {
    SimOptions options = Cluster(code, 1);
    options.replay = std::make_shared<RunTimes>(Record(options).trace);
    options.replay_from = 77;  // And on from the beginning.
    const Recording first = Record(options);
    EXPECT_EQ(Record(options).result.digest, first.result.digest) << code;
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
    EXPECT_NEAR(found.link.Up().latency_seconds / truth.link.latency_seconds, 1, 0.1) << i;
    EXPECT_NEAR(found.link.Up().bytes_per_second / 1e6, 1, 0.1) << i;
    EXPECT_NEAR(found.link.Down().bytes_per_second / 2e6, 1, 0.1) << i;
  }
}

// Steps without a line keep what was recorded before; workers beyond the recording, their profile.
TEST_F(ReplayTest, GapsAreFilled) {
  SimOptions options = Cluster("none", 0);
  options.job.shares = Shares::kEqual;
  options.job.steps = 12;
  RunTrace trace;
  trace.steps = 4;
  trace.workers = 1;
  trace.cells = {{.seconds_per_sample = 0.04}, {}, {}, {}};  // 128 samples: 5.12 s.
  options.replay = std::make_shared<RunTimes>(trace);
  for (const double seconds : Record(options).result.job.step_seconds) {
    EXPECT_GT(seconds, 5.12);
    EXPECT_LT(seconds, 5.6);
  }
}

}  // namespace
}  // namespace motley
