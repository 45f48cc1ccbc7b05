// SPDX-License-Identifier: Apache-2.0
#include "runtime/run_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "runtime/run_recorder.h"
#include "tests/data/gzip.h"

namespace motley {
namespace {

using testing::DoubleNear;
using testing::HasSubstr;

class RunTraceFile : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    path_ = std::filesystem::path(testing::TempDir()) / (std::string(test->name()) + ".trace.csv");
  }
  void TearDown() override { std::filesystem::remove(path_); }

  Result<RunTrace> Read(const std::string& text) {
    std::ofstream(path_, std::ios::binary) << text;
    return ReadRunTrace(path_.string());
  }
  Result<RunTrace> ReadLines(const std::string& lines) {
    return Read(std::string(kRunTraceColumns) + "\n" + lines);
  }
  void Refuse(const std::string& lines, const std::string& words) {
    const auto trace = ReadLines(lines);
    ASSERT_FALSE(trace.ok()) << lines;
    EXPECT_EQ(trace.code(), StatusCode::kDataError);
    EXPECT_THAT(trace.status().ToString(), HasSubstr(words));
    EXPECT_THAT(trace.status().ToString(), HasSubstr(path_.string()));
  }
  std::filesystem::path path_;
};

TEST_F(RunTraceFile, IsReadInAnyOrderWithGaps) {
  const auto trace = ReadLines("12,1,100,0.5,,\n# a word\n10,0,64,0.32,1048576,0.5\r\n\n");
  ASSERT_TRUE(trace.ok()) << trace.status().ToString();
  EXPECT_EQ(trace->first_step, 10U);
  EXPECT_EQ(trace->steps, 3U);
  EXPECT_EQ(trace->workers, 2U);
  EXPECT_THAT(trace->At(0, 0).seconds_per_sample, DoubleNear(0.005, 1e-9));
  EXPECT_THAT(trace->At(0, 0).bytes_per_second, DoubleNear(2097152, 1e-3));
  EXPECT_THAT(trace->At(2, 1).seconds_per_sample, DoubleNear(0.005, 1e-9));
  EXPECT_EQ(trace->At(2, 1).bytes_per_second, 0);
  EXPECT_EQ(trace->At(1, 0).seconds_per_sample, 0);
}

TEST_F(RunTraceFile, LinesAreReadAsTheyWereWritten) {
  const RunTraceLine line{7, 3, 1000, 1.25, 1 << 20, 0.125};
  const std::string text = FormatRunTraceLine(line);
  ASSERT_TRUE(text.ends_with('\n'));
  const auto read = ParseRunTraceLine(std::string_view(text).substr(0, text.size() - 1));
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(FormatRunTraceLine(*read), text);
  EXPECT_EQ(FormatRunTraceLine({7, 3, 1000, 1.25, 0, 0}), "7,3,1000,1.250000000,,\n");
}

TEST_F(RunTraceFile, MayBeGzipped) {
  const auto trace =
      Read(GzipText(std::string(kRunTraceColumns) + "\n0,0,10,0.1,,\n1,0,10,0.2,,\n"));
  ASSERT_TRUE(trace.ok()) << trace.status().ToString();
  EXPECT_EQ(trace->steps, 2U);
}

TEST_F(RunTraceFile, ErrorsNameTheLineAndWhatIsWrong) {
  Refuse("0,0,10,0.1,,\n0,1,10,0.1\n", ":3: a line has 6 values");
  Refuse("0,0,10,0.1,,,\n", ":2: ");
  Refuse("0,0,ten,0.1,,\n", ":2: 'ten' is not a number");
  Refuse("0,0,10,-0.1,,\n", ":2: compute_seconds");
  Refuse("0,0,10,0,,\n", ":2: compute_seconds");
  Refuse("0.5,0,10,0.1,,\n", ":2: step 0.5");
  Refuse("0,4096,10,0.1,,\n", ":2: worker 4096");
  Refuse("0,0,0,0.1,,\n", ":2: who computed no samples");
  Refuse("0,0,10,0.1,100,\n", ":2: ");
  Refuse("0,0,10,0.1,100,0\n", ":2: vector_seconds");
  Refuse("0,0,10,0.1,,\n99999999,4095,10,0.1,,\n", ":3: steps 0 to 99999999");
  Refuse("3,0,10,0.1,,\n3,0,10,0.1,,\n", "step 3 of worker 0 is there twice");
  Refuse("", "nothing was recorded");
  EXPECT_THAT(Read("a,b\n").status().ToString(), HasSubstr(":1: the first line must name"));
  EXPECT_EQ(ReadRunTrace("/no/such/file").code(), StatusCode::kNotFound);
}

// --- The recorder ---

class RecorderTest : public testing::Test {
 protected:
  static Duration Milliseconds(double ms) { return FromSeconds(ms * 1e-3); }
  // Records one row of a step.
  void Row(StepId step, WorkerId worker, uint64_t samples, double ms) {
    recorder_.OnEvent(event::WorkComputed{step, worker, samples, Milliseconds(ms), false, Time()});
  }
  std::string text_;
  RunRecorder recorder_{{.name = "recorded", .gradient_bytes = 4000},
                        [this](std::string_view more) { text_ += more; }};
};

TEST_F(RecorderTest, WritesALineForEachPartOfAStep) {
  Row(0, 0, 64, 10);
  Row(0, 1, 100, 20);
  Row(0, 1, 50, 10);  // Another row of the same step.
  recorder_.OnEvent(event::VectorReceived{1, 0, 1 << 20, Milliseconds(5), Time()});
  Row(1, 0, 64, 11);
  Row(2, 0, 0, 0);  // The row was cancelled before it began.
  recorder_.OnEvent(event::WorkComputed{3, 1, 10, Milliseconds(1), true, Time()});
  recorder_.OnEvent(event::WorkComputed{3, 1, 30, Milliseconds(4), true, Time()});
  recorder_.Finish();
  EXPECT_EQ(text_, std::string(kRunTraceColumns) +
                       "\n0,0,64,0.010000000,,\n1,0,64,0.011000000,1048576,0.005000000\n"
                       "0,1,150,0.030000000,,\n3,1,30,0.004000000,,\n");
}

// Shares of different sizes separate overhead from speed. Both are those of pieces; a row has six.
TEST_F(RecorderTest, LearnsTheCluster) {
  recorder_.OnEvent(event::WorkerJoined{0, "fast"});
  recorder_.OnEvent(event::WorkerJoined{2, "idle"});
  for (StepId step = 0; step < 200; ++step) {
    const uint64_t samples = step % 2 == 0 ? 600 : 1200;
    Row(step, 0, samples, 6 * 1 + static_cast<double>(samples) * 0.5);
    Row(step, 1, 600, 600);
    recorder_.OnEvent(event::RoundTrip{0, 0, Milliseconds(4), Time()});
    recorder_.OnEvent(event::RoundTrip{0, 1'000'000, Milliseconds(104), Time()});
    recorder_.OnEvent(event::VectorReceived{step, 0, 2'000'000, Milliseconds(100), Time()});
  }
  recorder_.Finish();
  const ClusterProfile profile = recorder_.Profile();
  EXPECT_EQ(profile.gradient_bytes, 4000U);
  ASSERT_EQ(profile.workers.size(), 3U);
  const WorkerProfile& fast = profile.workers[0];
  EXPECT_EQ(fast.device.name, "fast");
  EXPECT_NEAR(fast.device.samples_per_second, 2000, 40);
  EXPECT_NEAR(fast.device.overhead_seconds, 1e-3, 1e-4);
  EXPECT_LT(fast.device.jitter, 0.05);
  EXPECT_NEAR(fast.link.Up().latency_seconds, 0.002, 1e-9);
  EXPECT_NEAR(fast.link.Up().bytes_per_second, 2e7, 1);
  EXPECT_NEAR(fast.link.Down().bytes_per_second, 1e7, 1);
  EXPECT_EQ(profile.workers[1].device.name, "worker-1");
  EXPECT_NEAR(profile.workers[1].device.samples_per_second, 1000, 20);
  EXPECT_EQ(profile.workers[2].device.name, "idle");
  EXPECT_GT(profile.workers[2].device.samples_per_second, 0);
  // The simulate and plan commands can read the file.
  const auto read = ParseClusterProfile(FormatClusterProfile(profile), "recorded");
  ASSERT_TRUE(read.ok()) << read.status().ToString();
}

// A machine slept, and its links carried almost nothing meanwhile.
TEST_F(RecorderTest, WhatIsRecordedOfWorkersThatSleptCanBeRead) {
  for (StepId step = 0; step < 40; ++step) {
    Row(step, 0, 600, step == 30 ? 1e10 : 1);
    recorder_.OnEvent(event::RoundTrip{0, 0, Milliseconds(4), Time()});
    recorder_.OnEvent(event::RoundTrip{0, 40, Milliseconds(1e8), Time()});
    recorder_.OnEvent(event::VectorReceived{step, 0, 40, Milliseconds(1e8), Time()});
  }
  recorder_.Finish();
  const ClusterProfile profile = recorder_.Profile();
  ASSERT_EQ(profile.workers.size(), 1U);
  EXPECT_GT(profile.workers[0].device.tail_probability, 0);
  const auto read = ParseClusterProfile(FormatClusterProfile(profile), "recorded");
  EXPECT_TRUE(read.ok()) << read.status().ToString();
}

TEST_F(RecorderTest, WithoutAWordThereIsNoProfile) {
  recorder_.OnEvent(event::WorkerJoined{0, "early"});
  recorder_.Finish();
  EXPECT_TRUE(recorder_.Profile().workers.empty());
}

}  // namespace
}  // namespace motley
