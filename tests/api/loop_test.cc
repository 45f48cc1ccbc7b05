// SPDX-License-Identifier: Apache-2.0
// A training loop that the program owns (motley/step.h), beside the callbacks of a trainer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tests/api/api_world.h"
#include "tests/api/point_loop.h"

namespace motley {
namespace {

using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

constexpr uint32_t kAll = MOTLEY_LOOP_INITIALIZE | MOTLEY_LOOP_APPLY;

// A started job, whose steps are taken by threads of the test. They end with the job.
class LoopJob {
 public:
  LoopJob(const motley_job_options& options, const motley_loop& loop) : job_(options) {
    EXPECT_EQ(motley_job_set_loop(job_.get(), &loop), MOTLEY_OK) << motley_last_error();
  }
  ~LoopJob() {
    for (std::thread& thread : threads_) thread.join();
  }

  motley_job* get() const { return job_.get(); }
  TestJob& job() { return job_; }
  void Start() { ASSERT_EQ(motley_job_start(get()), MOTLEY_OK) << motley_last_error(); }
  void Pull(int threads = 1) {
    for (int i = 0; i < threads; ++i) {
      threads_.emplace_back(
          [this] { EXPECT_EQ(PullPoints(get()), MOTLEY_OK) << motley_last_error(); });
    }
  }
  motley_step Take(double seconds = 60) {
    motley_step step = MOTLEY_STEP_INIT;
    EXPECT_EQ(motley_step_begin(get(), seconds, &step), MOTLEY_OK) << motley_last_error();
    return step;
  }
  motley_status End(const motley_step& step, motley_status status = MOTLEY_OK) {
    return motley_step_end(get(), &step, status);
  }
  motley_status Wait() { return motley_job_wait(get(), -1, nullptr); }
  // Runs the job with `threads` threads; failures fail the test.
  void RunFine(int threads = 1) {
    Start();
    Pull(threads);
    ASSERT_EQ(Wait(), MOTLEY_OK) << motley_last_error();
  }

 private:
  TestJob job_;
  std::vector<std::thread> threads_;
};

std::vector<float> OfTrainer(const motley_job_options& options) {
  TestJob job(options);
  EXPECT_EQ(job.SetTrainer(PointTrainer()), MOTLEY_OK) << motley_last_error();
  job.RunFine();
  return job.Parameters();
}

motley_job_options FourWorkers(const char* code) {
  motley_job_options options = PointJob();
  options.code = code;
  options.workers = 4;
  options.steps = 3;
  options.batch = 60;
  options.shares = "equal";
  return options;
}

TEST(ApiLoop, LearnsWhatATrainerLearns) {
  for (const char* code : {"none", "repetition", "cyclic", "heterogeneous", "rs", "adaptive",
                           "short", "partial-coded", "multi-message", "auto"}) {
    SCOPED_TRACE(code);
    const motley_job_options options = FourWorkers(code);
    LoopJob job(options, PointLoop(0));
    job.RunFine(2);
    EXPECT_THAT(job.job().Parameters(), Pointwise(FloatNear(2e-6f), OfTrainer(options)));
    EXPECT_LT(job.job().Metrics().max_decode_error, 1e-4);
  }
}

TEST(ApiLoop, PlainSumsAreEqualToTheBit) {
  for (const char* code : {"none", "repetition"}) {
    SCOPED_TRACE(code);
    const motley_job_options options = FourWorkers(code);
    LoopJob job(options, PointLoop(0));
    job.RunFine();
    EXPECT_EQ(job.job().Parameters(), OfTrainer(options));
  }
}

TEST(ApiLoop, GoesOnWithoutAWorkerThatIsKilled) {
  motley_job_options options = FourWorkers("repetition");
  options.steps = 8;
  const std::vector<float> wanted = OfTrainer(options);
  options.faults = "kill:1@step=2 pause:2@step=4,100ms";
  LoopJob job(options, PointLoop(MOTLEY_LOOP_APPLY));
  job.RunFine(2);
  EXPECT_THAT(job.job().Parameters(), Pointwise(FloatNear(2e-6f), wanted));
}

// The loop's own SGD, and its first parameters, against the library's.
TEST(ApiLoop, AppliesUpdatesAsTheCoreDoes) {
  motley_job_options options = FourWorkers("none");
  options.clip = 0.1;
  options.given = MOTLEY_GIVEN_L2;
  options.l2 = 0.01;
  LoopJob own(options, PointLoop(kAll));
  own.RunFine();
  LoopJob core(options, PointLoop(MOTLEY_LOOP_INITIALIZE));
  core.RunFine(3);
  EXPECT_EQ(own.job().Parameters(), core.job().Parameters());
  EXPECT_NE(own.job().Parameters()[0], 3);
}

TEST(ApiLoop, AStateIsSavedAndResumed) {
  const std::string folder = TemporaryPath("loop-state");
  std::filesystem::remove_all(folder);
  motley_loop loop = PointLoop(kAll);
  loop.state_count = 5;  // Not the length of the parameters, nor a multiple of it.
  motley_job_options options = FourWorkers("none");
  options.steps = 6;
  LoopJob whole(options, loop);
  whole.RunFine();
  options.checkpoint = folder.c_str();
  options.steps = 4;
  LoopJob first(options, loop);
  first.RunFine();
  options.resume = folder.c_str();
  options.steps = 6;
  LoopJob second(options, loop);
  second.Start();
  std::vector<float> states;
  for (motley_step step = second.Take(); step.kind != MOTLEY_STEP_END; step = second.Take()) {
    if (step.kind == MOTLEY_STEP_INITIALIZE) {  // Shows what the job goes on with.
      EXPECT_EQ(step.step, 4U);
      EXPECT_EQ(step.state_count, 5U);
      EXPECT_EQ(step.state[4]++, 4);
      const auto saved = first.job().Parameters();
      EXPECT_EQ(std::vector<float>(step.new_parameters, step.new_parameters + POINT_DIMENSIONS),
                saved);
      step.new_parameters[0] += 1;  // Is lost.
    } else if (step.kind == MOTLEY_STEP_APPLY) {
      EXPECT_GT(step.batch_loss, 0);
      EXPECT_EQ(step.step, 4 + states.size());
      states.push_back(step.state[4]++);
      for (int i = 0; i < POINT_DIMENSIONS; ++i) {
        step.new_parameters[i] -= static_cast<float>(step.learning_rate) * step.gradient[i];
      }
    } else {
      AddPoints(second.get(), &step);
    }
    EXPECT_EQ(second.End(step), MOTLEY_OK);
  }
  EXPECT_EQ(second.Wait(), MOTLEY_OK) << motley_last_error();
  EXPECT_EQ(states, (std::vector<float>{4, 5}));
  EXPECT_EQ(second.job().Parameters(), whole.job().Parameters());
  loop.state_count = 4;
  options.steps = 8;
  LoopJob other(options, loop);
  other.Start();
  EXPECT_EQ(other.Wait(), MOTLEY_INVALID_ARGUMENT);
  EXPECT_THAT(motley_last_error(), HasSubstr("keeps 4 values between steps, not 5"));
}

// The state of the option `optimizer` is not the loop's.
TEST(ApiLoop, OnlyALoopThatAppliesUpdatesSeesAState) {
  const std::string folder = TemporaryPath("no-loop-state");
  std::filesystem::remove_all(folder);
  motley_job_options options = FourWorkers("none");
  options.optimizer = "momentum";
  options.checkpoint = folder.c_str();
  LoopJob first(options, PointLoop(MOTLEY_LOOP_INITIALIZE));
  first.RunFine();
  options.resume = folder.c_str();
  options.steps = 4;
  LoopJob second(options, PointLoop(MOTLEY_LOOP_INITIALIZE));
  second.Start();
  const motley_step resumed = second.Take();
  EXPECT_EQ(resumed.kind, MOTLEY_STEP_INITIALIZE);
  EXPECT_EQ(resumed.step, 3U);
  EXPECT_EQ(resumed.state_count, 0U);
  EXPECT_EQ(resumed.state, nullptr);
  EXPECT_EQ(second.End(resumed), MOTLEY_OK);
  EXPECT_EQ(PullPoints(second.get()), MOTLEY_OK) << motley_last_error();
  EXPECT_EQ(second.Wait(), MOTLEY_OK) << motley_last_error();
}

// Version 0 of the second job may have other values than that of the first.
TEST(ApiLoop, VersionsBelongToAJob) {
  std::vector<uint64_t> jobs;
  for (int run = 0; run < 2; ++run) {
    LoopJob job(FourWorkers("none"), PointLoop(0));
    job.Start();
    const motley_step first = job.Take();
    EXPECT_EQ(first.kind, MOTLEY_STEP_GRADIENT);
    EXPECT_EQ(first.version, 0U);
    jobs.push_back(first.job);
    EXPECT_EQ(job.End(first, AddPoints(job.get(), &first)), MOTLEY_OK);
    for (motley_step step = job.Take(); step.kind != MOTLEY_STEP_END; step = job.Take()) {
      EXPECT_EQ(step.job, first.job);
      EXPECT_EQ(job.End(step, AddPoints(job.get(), &step)), MOTLEY_OK);
    }
    EXPECT_EQ(job.Wait(), MOTLEY_OK) << motley_last_error();
  }
  EXPECT_NE(jobs[0], 0U);
  EXPECT_NE(jobs[0], jobs[1]);
}

TEST(ApiLoop, WeightsMakeAMeanOverTokensExact) {
  motley_job_options options = PointJob();
  options.steps = 1;
  options.workers = 4;
  double mean = 0, tokens = 0;
  for (uint64_t i = 0; i < 200; ++i) tokens += static_cast<double>(1 + i % 7);
  for (uint64_t i = 0; i < 200; ++i) mean += (1.0 + i % 7) * PointCoordinate(i, 0) / tokens;
  for (const char* code : {"none", "heterogeneous", "short"}) {
    SCOPED_TRACE(code);
    options.code = code;
    LoopJob job(options, PointLoop(0));
    job.Start();
    for (motley_step step = job.Take(); step.kind != MOTLEY_STEP_END; step = job.Take()) {
      for (uint32_t r = 0; r < step.run_count; ++r) {
        const motley_run& run = step.runs[r];
        step.weights[r] = 0;
        for (uint64_t i = run.first; i < run.first + run.count; ++i) {
          const uint64_t sample = step.samples[i];
          const auto weight = static_cast<double>(1 + sample % 7);
          step.weights[r] += weight;
          for (uint32_t v = 0; v < step.vectors; ++v) {
            step.sums[v][0] -=
                static_cast<float>(run.weights[v] * weight * PointCoordinate(sample, 0));
          }
        }
      }
      ASSERT_EQ(job.End(step), MOTLEY_OK);
    }
    ASSERT_EQ(job.Wait(), MOTLEY_OK) << motley_last_error();
    EXPECT_NEAR(job.job().Parameters()[0], 0.5 * mean, 1e-6);
  }
}

TEST(ApiLoop, StepsHaveTheSamplesOfTheBatch) {
  motley_job_options options = FourWorkers("none");
  options.seed = 11;
  options.steps = 1;
  LoopJob job(options, PointLoop(0));
  job.Start();
  std::vector<uint64_t> seen;
  for (motley_step step = job.Take(); step.kind != MOTLEY_STEP_END; step = job.Take()) {
    EXPECT_EQ(step.seed, 11U);
    EXPECT_EQ(step.vectors, 1U);
    uint64_t reached = 0;
    for (uint32_t r = 0; r < step.run_count; ++r) {
      EXPECT_EQ(step.runs[r].first, reached);
      EXPECT_EQ(step.weights[r], static_cast<double>(step.runs[r].count));
      reached += step.runs[r].count;
    }
    EXPECT_EQ(reached, step.sample_count);
    seen.insert(seen.end(), step.samples, step.samples + step.sample_count);
    ASSERT_EQ(job.End(step), MOTLEY_OK);
  }
  std::sort(seen.begin(), seen.end());
  std::vector<uint64_t> batch(60);
  uint64_t count = 0;
  ASSERT_EQ(motley_batch_samples(11, 200, 60, 0, batch.data(), &count), MOTLEY_OK);
  EXPECT_EQ(count, 60U);
  EXPECT_EQ(seen, batch);
  // The last step of the first epoch has what is left.
  ASSERT_EQ(motley_batch_samples(11, 200, 60, 3, nullptr, &count), MOTLEY_OK);
  EXPECT_EQ(count, 20U);
  EXPECT_EQ(motley_batch_samples(11, 0, 60, 3, nullptr, &count), MOTLEY_INVALID_ARGUMENT);
}

// The samples of `data` come with the work.
TEST(ApiLoop, GetsTheSamplesOfItsData) {
  motley_job_options options = SmallJob();
  options.steps = 1;
  options.code = "none";
  LoopJob job(options, PointLoop(0));
  job.Start();
  uint64_t rows = 0;
  for (motley_step step = job.Take(); step.kind != MOTLEY_STEP_END; step = job.Take()) {
    ASSERT_NE(step.batch, nullptr);
    EXPECT_EQ(step.batch->rows, step.sample_count);
    for (uint64_t i = 0; i < step.batch->rows; ++i, ++rows) {
      EXPECT_EQ(step.batch->labels[i], static_cast<float>(step.samples[i] % 3));
    }
    ASSERT_EQ(job.End(step), MOTLEY_OK);
  }
  EXPECT_EQ(rows, 50U);
  EXPECT_EQ(job.Wait(), MOTLEY_OK) << motley_last_error();
}

// Server and workers are jobs of their own, each with the same loop.
TEST(ApiLoop, ServerAndWorkersEachHaveTheirPart) {
  motley_job_options options = FourWorkers("repetition");
  options.role = MOTLEY_SERVER;
  options.workers = options.min_workers = 2;
  options.token = "one token for this test";
  LoopJob server(options, PointLoop(kAll));
  std::string address;
  std::atomic<bool> listening = false;
  server.job().OnEvent([&](const motley_event& event) {
    if (event.kind != MOTLEY_EVENT_LISTENING) return;
    address = event.text;
    listening = true;
    listening.notify_all();
  });
  server.Start();
  server.Pull();
  listening.wait(false);
  motley_job_options worker MOTLEY_JOB_OPTIONS_INIT;
  worker.role = MOTLEY_WORKER;
  worker.server = address.c_str();
  worker.token = options.token;
  LoopJob first(worker, PointLoop(kAll)), second(worker, PointLoop(kAll));
  for (LoopJob* each : {&first, &second}) {
    each->Start();
    each->Pull();
    EXPECT_EQ(motley_job_finish(each->get()), MOTLEY_CONFLICT);
  }
  EXPECT_EQ(server.Wait(), MOTLEY_OK) << motley_last_error();
  EXPECT_EQ(first.Wait(), MOTLEY_OK) << motley_last_error();
  EXPECT_EQ(second.Wait(), MOTLEY_OK) << motley_last_error();
  motley_job_options alone = FourWorkers("none");
  LoopJob same(alone, PointLoop(kAll));
  same.RunFine();
  EXPECT_THAT(server.job().Parameters(), Pointwise(FloatNear(1e-6f), same.job().Parameters()));
}

}  // namespace
}  // namespace motley
