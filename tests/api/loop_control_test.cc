// SPDX-License-Identifier: Apache-2.0
// A loop that the program owns: ends, misuse, and what other threads ask of a running job.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tests/api/api_world.h"
#include "tests/api/point_loop.h"

namespace motley {
namespace {

using testing::HasSubstr;

motley_step Take(motley_job* job, double seconds = 60) {
  motley_step step = MOTLEY_STEP_INIT;
  EXPECT_EQ(motley_step_begin(job, seconds, &step), MOTLEY_OK) << motley_last_error();
  return step;
}

void SetLoop(motley_job* job, uint32_t flags = 0) {
  const motley_loop loop = PointLoop(flags);
  ASSERT_EQ(motley_job_set_loop(job, &loop), MOTLEY_OK) << motley_last_error();
}

void Start(motley_job* job, uint32_t flags = 0) {
  SetLoop(job, flags);
  ASSERT_EQ(motley_job_start(job), MOTLEY_OK) << motley_last_error();
}

TEST(ApiLoopMisuse, IsRefusedWithItsReason) {
  TestJob job(PointJob());
  motley_step step = MOTLEY_STEP_INIT;
  EXPECT_EQ(motley_step_begin(job.get(), 0, &step), MOTLEY_CONFLICT);
  EXPECT_THAT(motley_last_error(), HasSubstr("motley_job_set_loop"));
  motley_loop loop = PointLoop(0);
  loop.flags = 64;
  EXPECT_EQ(motley_job_set_loop(job.get(), &loop), MOTLEY_INVALID_ARGUMENT);
  EXPECT_THAT(motley_last_error(), HasSubstr("0x40"));
  loop = PointLoop(0);
  loop.state_count = 1;
  EXPECT_EQ(motley_job_set_loop(job.get(), &loop), MOTLEY_INVALID_ARGUMENT);
  loop = PointLoop(MOTLEY_LOOP_APPLY);
  loop.state_count = UINT64_MAX / 4;
  EXPECT_EQ(motley_job_set_loop(job.get(), &loop), MOTLEY_INVALID_ARGUMENT);
  EXPECT_THAT(motley_last_error(), HasSubstr("a state of 4611686018427387903 floats"));
  loop = PointLoop(0);
  loop.struct_size = 3;
  EXPECT_EQ(motley_job_set_loop(job.get(), &loop), MOTLEY_INVALID_ARGUMENT);
  loop = PointLoop(0);
  loop.parameter_count = 0;
  EXPECT_EQ(motley_job_set_loop(job.get(), &loop), MOTLEY_INVALID_ARGUMENT);
  SetLoop(job.get());
  EXPECT_EQ(motley_step_begin(job.get(), 0, &step), MOTLEY_CONFLICT);
  EXPECT_THAT(motley_last_error(), HasSubstr("motley_job_start"));
  EXPECT_EQ(motley_job_wait(job.get(), 0, nullptr), MOTLEY_CONFLICT);
  EXPECT_EQ(motley_job_run(job.get()), MOTLEY_CONFLICT);
  EXPECT_THAT(motley_last_error(), HasSubstr("motley_job_start"));
  EXPECT_EQ(motley_job_allow_steps(job.get(), 3), MOTLEY_CONFLICT);
  EXPECT_THAT(motley_last_error(), HasSubstr("`allowed_steps`"));
  EXPECT_EQ(motley_job_set_rate(job.get(), -1), MOTLEY_INVALID_ARGUMENT);
  ASSERT_EQ(motley_job_start(job.get()), MOTLEY_OK);
  EXPECT_EQ(motley_job_start(job.get()), MOTLEY_CONFLICT);
  EXPECT_EQ(motley_job_set_loop(job.get(), &loop), MOTLEY_CONFLICT);
  EXPECT_EQ(motley_step_begin(job.get(), NAN, &step), MOTLEY_INVALID_ARGUMENT);
  step.struct_size = 5;
  EXPECT_EQ(motley_step_begin(job.get(), 60, &step), MOTLEY_INVALID_ARGUMENT);
  step = Take(job.get());
  ASSERT_EQ(step.kind, MOTLEY_STEP_GRADIENT);
  EXPECT_EQ(motley_step_end(job.get(), &step, AddPoints(job.get(), &step)), MOTLEY_OK);
  EXPECT_EQ(motley_step_end(job.get(), &step, MOTLEY_OK), MOTLEY_CONFLICT);
  EXPECT_THAT(motley_last_error(), HasSubstr("handed back before"));
  EXPECT_EQ(motley_step_partial(job.get(), &step, 1), MOTLEY_CONFLICT);
  EXPECT_EQ(PullPoints(job.get()), MOTLEY_OK) << motley_last_error();
  step = Take(job.get(), -1);
  EXPECT_EQ(step.kind, MOTLEY_STEP_END);
  EXPECT_EQ(motley_step_end(job.get(), &step, MOTLEY_OK), MOTLEY_INVALID_ARGUMENT);
  int32_t ended = 0;
  EXPECT_EQ(motley_job_wait(job.get(), 0, &ended), MOTLEY_OK) << motley_last_error();
  EXPECT_EQ(ended, 1);
}

// While it lives, no thread can be made: none of this size of stack has room.
class NoThreads {
 public:
  NoThreads() {
    pthread_getattr_default_np(&before_);
    pthread_attr_t huge = before_;
    pthread_attr_setstacksize(&huge, size_t{1} << 46);
    EXPECT_EQ(pthread_setattr_default_np(&huge), 0);
  }
  ~NoThreads() { pthread_setattr_default_np(&before_); }

 private:
  pthread_attr_t before_{};
};

TEST(ApiLoopMisuse, AJobWithoutAThreadHasNotStarted) {
  TestJob job(PointJob());
  SetLoop(job.get());
  {
    const NoThreads none;
    EXPECT_EQ(motley_job_start(job.get()), MOTLEY_RESOURCE);
    EXPECT_THAT(motley_last_error(), HasSubstr("no thread for the job"));
  }
  motley_step step = MOTLEY_STEP_INIT;
  EXPECT_EQ(motley_step_begin(job.get(), 0, &step), MOTLEY_CONFLICT);
  EXPECT_EQ(motley_job_wait(job.get(), 0, nullptr), MOTLEY_CONFLICT);
  ASSERT_EQ(motley_job_start(job.get()), MOTLEY_OK) << motley_last_error();
  EXPECT_EQ(PullPoints(job.get()), MOTLEY_OK) << motley_last_error();
  EXPECT_EQ(motley_job_wait(job.get(), -1, nullptr), MOTLEY_OK) << motley_last_error();
}

TEST(ApiLoopMisuse, UpdatesOfTheLoopNeedTheWholeVector) {
  motley_job_options options = PointJob();
  options.reduce = "direct";
  TestJob job(options);
  const motley_loop loop = PointLoop(MOTLEY_LOOP_APPLY);
  EXPECT_EQ(motley_job_set_loop(job.get(), &loop), MOTLEY_INVALID_ARGUMENT);
  EXPECT_THAT(motley_last_error(), HasSubstr("`reduce` direct"));
}

TEST(ApiLoopEnd, WakesThreadsThatWait) {
  motley_job_options options = PointJob();
  options.allowed_steps = 1;
  TestJob job(options);
  Start(job.get());
  std::vector<std::thread> waiting;
  for (int i = 0; i < 4; ++i) {
    waiting.emplace_back([&] { EXPECT_EQ(PullPoints(job.get()), MOTLEY_OK); });
  }
  while (job.Metrics().steps < 1) std::this_thread::yield();
  motley_job_stop(job.get());
  for (std::thread& thread : waiting) thread.join();
  EXPECT_EQ(motley_job_wait(job.get(), -1, nullptr), MOTLEY_CANCELLED);
  EXPECT_THAT(motley_last_error(), HasSubstr("stopped after 1 of 30 steps"));
}

// Nobody takes the steps, and the job ends all the same.
TEST(ApiLoopEnd, DoesNotWaitForStepsThatNobodyTook) {
  for (const uint32_t flags : {0U, uint32_t{MOTLEY_LOOP_INITIALIZE}}) {
    TestJob job(PointJob());
    Start(job.get(), flags);
    pollfd ready{motley_job_descriptor(job.get()), POLLIN, 0};
    ASSERT_EQ(poll(&ready, 1, 60'000), 1);
    motley_job_stop(job.get());
    EXPECT_EQ(motley_job_wait(job.get(), -1, nullptr), MOTLEY_CANCELLED);
  }
}

// The gradient comes in time, but its update is not taken.
TEST(ApiLoopEnd, DropsAnUpdateThatNobodyTook) {
  motley_job_options options = PointJob();
  options.workers = 1;
  options.code = "none";
  TestJob job(options);
  Start(job.get(), MOTLEY_LOOP_APPLY);
  motley_step step = Take(job.get());
  ASSERT_EQ(step.kind, MOTLEY_STEP_GRADIENT);
  ASSERT_EQ(motley_step_end(job.get(), &step, AddPoints(job.get(), &step)), MOTLEY_OK);
  pollfd ready{motley_job_descriptor(job.get()), POLLIN, 0};
  ASSERT_EQ(poll(&ready, 1, 60'000), 1);
  motley_job_stop(job.get());
  EXPECT_EQ(motley_job_wait(job.get(), -1, nullptr), MOTLEY_CANCELLED);
  EXPECT_EQ(job.Parameters(), std::vector<float>(POINT_DIMENSIONS, 0.0f));
}

TEST(ApiLoopEnd, WaitsForAStepThatIsOut) {
  TestJob job(PointJob());
  Start(job.get());
  motley_step step = Take(job.get());
  motley_job_destroy(job.get());
  EXPECT_THAT(motley_last_error(), HasSubstr("was not destroyed"));
  motley_job_stop(job.get());
  int32_t ended = 1;
  EXPECT_EQ(motley_job_wait(job.get(), 0, &ended), MOTLEY_UNAVAILABLE);
  EXPECT_EQ(ended, 0);
  motley_status wanted = MOTLEY_OK;
  while (wanted == MOTLEY_OK) wanted = motley_step_partial(job.get(), &step, 0);
  EXPECT_EQ(wanted, MOTLEY_CANCELLED);
  step.sums[0][0] = 1;  // Still there.
  EXPECT_EQ(motley_step_end(job.get(), &step, MOTLEY_CANCELLED), MOTLEY_OK);
  EXPECT_EQ(motley_job_wait(job.get(), -1, &ended), MOTLEY_CANCELLED);
  EXPECT_EQ(Take(job.get()).kind, MOTLEY_STEP_END);
}

TEST(ApiLoopEnd, FollowsAFailureOfTheLoop) {
  const auto fails = [](int32_t kind, const char* why) {
    TestJob job(PointJob());
    Start(job.get(), MOTLEY_LOOP_INITIALIZE | MOTLEY_LOOP_APPLY);
    for (motley_step step = Take(job.get()); step.kind != MOTLEY_STEP_END; step = Take(job.get())) {
      const motley_status done = step.kind == kind ? 4711 : MOTLEY_OK;
      EXPECT_EQ(motley_step_end(job.get(), &step, done), MOTLEY_OK);
    }
    EXPECT_EQ(motley_job_wait(job.get(), -1, nullptr), MOTLEY_CALLBACK) << motley_last_error();
    EXPECT_THAT(motley_last_error(), HasSubstr(why));
  };
  fails(MOTLEY_STEP_INITIALIZE, "INITIALIZE back with status 4711");
  fails(MOTLEY_STEP_GRADIENT, "GRADIENT back with status 4711");
  fails(MOTLEY_STEP_APPLY, "APPLY back with status 4711");
}

// Takes steps until the update of a version is offered, and returns it.
motley_step UpdateOf(motley_job* job, uint64_t version) {
  for (;;) {
    motley_step step = Take(job);
    const bool found = step.kind == MOTLEY_STEP_APPLY && step.version == version;
    if (found || step.kind == MOTLEY_STEP_END) return step;
    if (step.kind == MOTLEY_STEP_GRADIENT) AddPoints(job, &step);
    EXPECT_EQ(motley_step_end(job, &step, MOTLEY_OK), MOTLEY_OK);
  }
}

void PullToTheEnd(motley_job* job) {
  for (motley_step step = Take(job); step.kind != MOTLEY_STEP_END; step = Take(job)) {
    EXPECT_EQ(motley_step_end(job, &step, MOTLEY_CANCELLED), MOTLEY_OK);
  }
}

TEST(ApiLoopEnd, ReportsAnUpdateThatFailsAfterFinish) {
  for (const bool saves : {false, true}) {
    const std::string folder = TemporaryPath("loop-finish");
    std::filesystem::remove_all(folder);
    motley_job_options options = PointJob();
    if (saves) options.checkpoint = folder.c_str();
    TestJob job(options);
    Start(job.get(), MOTLEY_LOOP_APPLY);
    motley_step step = UpdateOf(job.get(), 2);
    ASSERT_EQ(step.kind, MOTLEY_STEP_APPLY);
    EXPECT_EQ(motley_job_finish(job.get()), MOTLEY_OK);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // The job has ended meanwhile.
    EXPECT_EQ(motley_step_end(job.get(), &step, 4711), MOTLEY_OK);
    PullToTheEnd(job.get());
    EXPECT_EQ(motley_job_wait(job.get(), -1, nullptr), MOTLEY_CALLBACK) << saves;
    EXPECT_THAT(motley_last_error(), HasSubstr("APPLY back with status 4711"));
  }
}

TEST(ApiLoopEnd, SavesTheVersionBeforeAnUpdateThatIsHandedBack) {
  const std::string folder = TemporaryPath("loop-handed-back");
  std::filesystem::remove_all(folder);
  motley_job_options options = PointJob();
  options.checkpoint = folder.c_str();
  TestJob job(options);
  Start(job.get(), MOTLEY_LOOP_APPLY);
  motley_step step = UpdateOf(job.get(), 3);
  ASSERT_EQ(step.kind, MOTLEY_STEP_APPLY);
  EXPECT_EQ(motley_step_end(job.get(), &step, MOTLEY_CANCELLED), MOTLEY_OK);
  PullToTheEnd(job.get());
  EXPECT_EQ(motley_job_wait(job.get(), -1, nullptr), MOTLEY_CANCELLED);
  EXPECT_EQ(job.Metrics().checkpoint_step, 3U);
}

// The other worker has the same samples, so the first answer is not needed any more.
TEST(ApiLoopEnd, CancelsWorkThatAnotherWorkerDid) {
  motley_job_options options = PointJob();
  options.code = "repetition";
  options.steps = 2;
  TestJob job(options);
  Start(job.get());
  motley_step held = Take(job.get());
  ASSERT_EQ(held.kind, MOTLEY_STEP_GRADIENT);
  std::thread other([&] { EXPECT_EQ(PullPoints(job.get()), MOTLEY_OK); });
  motley_status wanted = MOTLEY_OK;
  while (wanted == MOTLEY_OK) wanted = motley_step_partial(job.get(), &held, 0);
  EXPECT_EQ(wanted, MOTLEY_CANCELLED);
  EXPECT_EQ(motley_step_end(job.get(), &held, MOTLEY_CANCELLED), MOTLEY_OK);
  other.join();
  EXPECT_EQ(motley_job_wait(job.get(), -1, nullptr), MOTLEY_OK) << motley_last_error();
}

TEST(ApiLoopThreads, ManyMayTakeSteps) {
  motley_job_options options = PointJob();
  options.workers = 8;
  options.steps = 200;
  options.batch = 40;
  TestJob job(options);
  Start(job.get(), MOTLEY_LOOP_APPLY);
  std::vector<std::thread> threads;
  std::atomic<bool> over = false;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] { EXPECT_EQ(PullPoints(job.get()), MOTLEY_OK); });
  }
  // Another one reads what any thread may read.
  threads.emplace_back([&] {
    std::vector<float> values(POINT_DIMENSIONS);
    uint64_t version = 0, last = 0;
    while (!over) {
      const motley_status status =
          motley_job_copy_parameters(job.get(), values.data(), values.size(), &version);
      EXPECT_TRUE(status == MOTLEY_OK || status == MOTLEY_UNAVAILABLE) << motley_last_error();
      EXPECT_GE(version, last);
      last = version;
      EXPECT_LE(job.Metrics().steps, 200U);
    }
  });
  EXPECT_EQ(motley_job_wait(job.get(), -1, nullptr), MOTLEY_OK) << motley_last_error();
  std::vector<float> values(POINT_DIMENSIONS);
  uint64_t version = 0;
  EXPECT_EQ(motley_job_copy_parameters(job.get(), values.data(), values.size(), &version),
            MOTLEY_OK);
  EXPECT_EQ(version, 200U);
  EXPECT_EQ(values, job.Parameters());
  EXPECT_EQ(motley_job_copy_parameters(job.get(), values.data(), 2, nullptr),
            MOTLEY_INVALID_ARGUMENT);
  over = true;
  for (std::thread& thread : threads) thread.join();
}

TEST(ApiLoopDescriptor, IsReadableWhileThereIsWork) {
  motley_job_options options = PointJob();
  options.workers = 1;
  options.code = "none";
  options.steps = 1;
  TestJob job(options);
  Start(job.get());
  const auto readable = [&](int milliseconds) {
    pollfd ready{motley_job_descriptor(job.get()), POLLIN, 0};
    return poll(&ready, 1, milliseconds) == 1;
  };
  EXPECT_TRUE(readable(60'000));
  motley_step step = Take(job.get(), 0);
  ASSERT_EQ(step.kind, MOTLEY_STEP_GRADIENT);
  EXPECT_FALSE(readable(0));
  EXPECT_EQ(Take(job.get(), 0).kind, MOTLEY_STEP_NONE);
  EXPECT_EQ(motley_step_end(job.get(), &step, MOTLEY_OK), MOTLEY_OK);
  EXPECT_TRUE(readable(60'000));
  EXPECT_EQ(Take(job.get(), 0).kind, MOTLEY_STEP_END);
  EXPECT_TRUE(readable(0));
}

TEST(ApiLoopGate, PausesUntilMoreStepsAreAllowed) {
  motley_job_options options = PointJob();
  options.allowed_steps = 3;
  options.steps = 0;  // Until it is finished.
  TestJob job(options);
  Start(job.get(), MOTLEY_LOOP_APPLY);
  std::thread puller([&] { EXPECT_EQ(PullPoints(job.get()), MOTLEY_OK); });
  const auto reach = [&](uint64_t steps) {
    while (job.Metrics().steps < steps) std::this_thread::yield();
    for (int i = 0; i < 1000; ++i) {
      EXPECT_EQ(job.Metrics().steps, steps);
      std::this_thread::yield();
    }
  };
  reach(3);
  EXPECT_EQ(motley_job_allow_steps(job.get(), 2), MOTLEY_OK);  // The gate does not close again.
  EXPECT_EQ(motley_job_allow_steps(job.get(), 7), MOTLEY_OK);
  reach(7);
  EXPECT_EQ(motley_job_finish(job.get()), MOTLEY_OK);
  EXPECT_EQ(motley_job_wait(job.get(), -1, nullptr), MOTLEY_OK) << motley_last_error();
  puller.join();
  EXPECT_EQ(job.Report("steps"), 7);
}

// A resumed job has done its steps, so it pauses before the first of its own.
TEST(ApiLoopGate, CountsTheStepsOfEarlierRuns) {
  const std::string folder = TemporaryPath("loop-gate");
  std::filesystem::remove_all(folder);
  motley_job_options options = PointJob();
  options.checkpoint = folder.c_str();
  options.allowed_steps = 4;
  const auto run_to = [&](uint64_t first, uint64_t more) {
    TestJob job(options);
    SetLoop(job.get());
    std::atomic<uint64_t> opened = 0;
    job.OnEvent([&](const motley_event& event) {
      if (event.kind == MOTLEY_EVENT_STEP_OPENED) opened = event.step + 1;
    });
    ASSERT_EQ(motley_job_start(job.get()), MOTLEY_OK);
    std::thread puller([&] { EXPECT_EQ(PullPoints(job.get()), MOTLEY_OK); });
    if (first == 0) {
      while (job.Metrics().steps < 4) std::this_thread::yield();
    } else {
      while (job.Metrics().steps_wanted == 0) std::this_thread::yield();
      EXPECT_EQ(opened, 0U);
      EXPECT_EQ(motley_job_allow_steps(job.get(), more), MOTLEY_OK);
      while (job.Metrics().steps < more) std::this_thread::yield();
    }
    EXPECT_EQ(motley_job_finish(job.get()), MOTLEY_OK);
    EXPECT_EQ(motley_job_wait(job.get(), -1, nullptr), MOTLEY_OK) << motley_last_error();
    puller.join();
  };
  run_to(0, 4);
  options.resume = folder.c_str();
  run_to(4, 6);
}

TEST(ApiLoopGate, NeedsACommonEndOfSteps) {
  motley_job_options options = PointJob();
  options.allowed_steps = 1;
  options.sync = "asp";
  motley_job* job = nullptr;
  EXPECT_EQ(motley_job_create(&options, &job), MOTLEY_INVALID_ARGUMENT);
  EXPECT_THAT(motley_last_error(), HasSubstr("`allowed_steps` 1"));
}

// After one step of rate 0.5, the rest have a rate that changes nothing that could be seen.
TEST(ApiLoopRate, IsSetFromTheNextUpdateOn) {
  motley_job_options options = PointJob();
  options.allowed_steps = 1;
  options.steps = 3;
  TestJob job(options);
  Start(job.get());
  std::thread puller([&] { EXPECT_EQ(PullPoints(job.get()), MOTLEY_OK); });
  while (job.Metrics().steps < 1) std::this_thread::yield();
  std::vector<float> first(POINT_DIMENSIONS);
  EXPECT_EQ(motley_job_copy_parameters(job.get(), first.data(), first.size(), nullptr), MOTLEY_OK)
      << motley_last_error();
  EXPECT_EQ(motley_job_set_rate(job.get(), 1e-12), MOTLEY_OK);
  EXPECT_EQ(motley_job_allow_steps(job.get(), 3), MOTLEY_OK);
  EXPECT_EQ(motley_job_wait(job.get(), -1, nullptr), MOTLEY_OK) << motley_last_error();
  puller.join();
  EXPECT_EQ(job.Parameters(), first);
  EXPECT_NEAR(job.Metrics().learning_rate, 1e-12, 1e-20);
}

// Also without a loop: a trainer's job, and the built-in models.
TEST(ApiStart, RunsAnyJobOnAThreadOfTheLibrary) {
  TestJob job(SmallJob());
  ASSERT_EQ(motley_job_start(job.get()), MOTLEY_OK);
  EXPECT_EQ(motley_job_wait(job.get(), -1, nullptr), MOTLEY_OK) << motley_last_error();
  TestJob same(SmallJob());
  same.RunFine();
  EXPECT_EQ(job.Parameters(), same.Parameters());
  EXPECT_EQ(motley_job_descriptor(job.get()), -1);
  EXPECT_THAT(motley_last_error(), HasSubstr("no loop of yours"));
}

}  // namespace
}  // namespace motley
