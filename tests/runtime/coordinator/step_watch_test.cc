// SPDX-License-Identifier: Apache-2.0
// Tests when an unattended job ends, and which of a worker's reports become notices.
#include "runtime/coordinator/step_watch.h"

#include <gtest/gtest.h>

#include <chrono>

#include "runtime/notice_limit.h"
#include "tests/runtime/job_world.h"

namespace motley {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class Watch : public testing::Test {
 protected:
  // Lets virtual time pass.
  void Pass(Duration time) {
    const Time end = loop.Now() + time;
    loop.After(time, [] {});
    loop.RunUntil([&] { return loop.Now() >= end; });
  }

  VirtualLoop loop;
  uint64_t queued = 0;
  int stuck = 0;
  StepWatch watch{loop, seconds(4), 2, [this] { return queued; }, [this] { ++stuck; }};
};

TEST_F(Watch, EndsAfterTheLimitAndAQuarterAtMost) {
  Pass(seconds(100));
  EXPECT_EQ(stuck, 0) << "no step was opened yet";
  watch.Opened(0);
  Pass(milliseconds(3990));
  EXPECT_EQ(stuck, 0);
  Pass(milliseconds(1020));
  EXPECT_EQ(stuck, 1);
  Pass(seconds(100));
  EXPECT_EQ(stuck, 1) << "it is said once";
}

TEST_F(Watch, ProgressOfAnyKindPutsTheEndOff) {
  watch.Opened(0);
  for (uint64_t i = 1; i <= 20; ++i) {
    Pass(seconds(3));
    switch (i % 4) {
      case 0: watch.Progress(); break;
      case 1: watch.Computed(1, i); break;
      case 2:
        queued = 1000;
        Pass(seconds(1));
        queued = 500;
        break;
      case 3: watch.Opened(i); break;
    }
  }
  EXPECT_EQ(stuck, 0);
}

TEST_F(Watch, WhatIsRepeatedIsNoProgress) {
  watch.Opened(3);
  watch.Computed(0, 10);
  for (int i = 0; i < 6; ++i) {
    Pass(seconds(1));
    watch.Computed(0, 10);
    watch.Opened(3);
    queued = 1000;
  }
  EXPECT_EQ(stuck, 1);
}

class StepLimit : public testing::TestWithParam<const char*> {};

TEST_P(StepLimit, EndsAJobWhoseWorkersAreThereAndSayNothing) {
  JobOptions options = JobWorld::Options(2, GetParam());
  options.step_limit = seconds(20);
  JobWorld world(options);
  world.StartServer();
  world.StartWorkers();
  Time silent{};
  world.watcher.on_step = [&](StepId step) {
    if (step != 3 || silent != Time{}) return;
    silent = world.loop.Now();
    for (const auto& worker : world.workers) worker->device->SetSpeed(1e-9);
  };
  const JobResult& result = world.Run();
  EXPECT_EQ(result.status.code(), StatusCode::kUnavailable);
  EXPECT_NE(result.status.message().find("step 3 has made no progress for 20 s"), std::string::npos)
      << result.status.ToString();
  EXPECT_EQ(result.steps, 3u);
  EXPECT_GE(world.loop.Now() - silent, seconds(20));
}

INSTANTIATE_TEST_SUITE_P(OfRowsAndOfLeases, StepLimit, testing::Values("none", "adaptive"));

// A partition may take longer than the limit, so each piece of it that comes is progress.
TEST(StepLimitOfData, WaitsWhileTheyComeAndNotForReportsOfNothingNew) {
  JobOptions options = JobWorld::Options(1, "none");
  options.step_limit = seconds(20);
  JobWorld world(options);
  world.StartServer();
  FakeWorker fake(world, 77);
  fake.Join(0);
  ASSERT_TRUE(world.RunUntil([&] { return fake.accept.has_value(); }));
  fake.Introduce();
  ASSERT_TRUE(world.RunUntil([&] { return !fake.assigned.empty(); }));
  wire::DataCameT came;
  const auto report = [&](uint64_t more) {
    came.bytes += more;
    fake.Say(came);
    const Time next = world.loop.Now() + seconds(15);
    world.loop.After(seconds(15), [] {});
    world.RunUntil([&] { return world.result.has_value() || world.loop.Now() >= next; });
  };
  for (int i = 0; i < 8; ++i) report(10);
  ASSERT_FALSE(world.result.has_value()) << world.result->status.ToString();
  for (int i = 0; i < 3; ++i) report(0);
  ASSERT_TRUE(world.result.has_value());
  EXPECT_NE(world.result->status.message().find("made no progress for 20 s"), std::string::npos)
      << world.result->status.ToString();
}

TEST(NoticeLimit, LetsEightPassAndThenOneInTenSeconds) {
  NoticeLimit limit(2);
  Time now{};
  int passed = 0;
  for (int i = 0; i < 30000; ++i) {
    now += std::chrono::microseconds(233);  // 7 s in all.
    passed += limit.Pass(0, now) ? 1 : 0;
  }
  EXPECT_EQ(passed, 8);
  EXPECT_EQ(limit.Pass(1, now), 0u) << "another worker's";
  now += seconds(10);
  EXPECT_EQ(limit.Pass(0, now), 29992u);
  EXPECT_EQ(limit.Pass(0, now), std::nullopt);
}

}  // namespace
}  // namespace motley
