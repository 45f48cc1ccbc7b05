// SPDX-License-Identifier: Apache-2.0
// Whole jobs through the C API: roles, results, events, and what ends them early.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/api/api_world.h"
#include "tests/api/point_trainer.h"

namespace motley {
namespace {

using testing::HasSubstr;

TEST(ApiJob, TrainsAndHasResults) {
  TestJob job(SmallJob());
  job.RunFine();
  EXPECT_EQ(job.Report("steps"), 12);
  EXPECT_GT(job.Report("test_accuracy"), 0.8);
  EXPECT_EQ(job.Parameters().size(), 6U * 3 + 3);
  float two[2] = {-1, -1};
  uint64_t all = 0;
  ASSERT_EQ(motley_job_parameters(job.get(), two, 2, &all), MOTLEY_OK);
  EXPECT_EQ(all, 21U);
  EXPECT_EQ(two[1], job.Parameters()[1]);
  const motley_metrics metrics = job.Metrics();
  EXPECT_EQ(metrics.steps, 12U);
  EXPECT_EQ(metrics.discarded_steps, 0U);
  EXPECT_EQ(metrics.batch_loss, job.Report("batch_loss"));
}

// Workers that were started once look for all jobs of their program at one address.
TEST(ApiJob, TheJobsOfAProgramThatALauncherStartedListenAtOneAddress) {
  const std::string file = TemporaryPath("address");
  std::vector<std::string> addresses;
  for (const char* listen : {"127.0.0.1:0", "127.0.0.1:0", "localhost:0"}) {
    setenv("MOTLEY_ADDRESS_FILE", file.c_str(), 1);
    setenv("MOTLEY_LISTEN", listen, 1);
    setenv("MOTLEY_TOKEN", "one token for this test", 1);
    motley_job_options options = PointJob();
    options.role = MOTLEY_SERVER;
    TestJob job(options);
    for (const char* name : {"MOTLEY_ADDRESS_FILE", "MOTLEY_LISTEN", "MOTLEY_TOKEN"}) {
      unsetenv(name);
    }
    job.OnEvent([&](const motley_event& event) {
      if (event.kind == MOTLEY_EVENT_LISTENING) addresses.emplace_back(event.text);
      motley_job_stop(job.get());
    });
    ASSERT_EQ(job.SetTrainer(PointTrainer()), MOTLEY_OK) << motley_last_error();
    EXPECT_EQ(job.Run(), MOTLEY_CANCELLED) << motley_last_error();
  }
  ASSERT_EQ(addresses.size(), 3U);
  EXPECT_EQ(addresses[0], addresses[1]);
  EXPECT_NE(addresses[0], addresses[2]);
}

// 320 samples of 4 million multiplications exceed the limit of an unrequested evaluation.
TEST(ApiJob, ALargeTrainingSetIsEvaluatedOnlyWhereItIsAskedFor) {
  motley_job_options options = SmallJob();
  options.model = "mlp:2048,2048";
  options.learning_rate = 1e-3;
  options.batch = 10;
  options.steps = 1;
  for (const uint32_t asked : {0U, 1U}) {
    options.evaluate_training = asked;
    TestJob job(options);
    job.RunFine();
    const std::string report = motley_job_report(job.get());
    EXPECT_EQ(report.find("\"final_loss\"") != std::string::npos, asked == 1);
    EXPECT_EQ(job.Report("last_epoch_loss"), job.Report("batch_loss"));
    EXPECT_GT(job.Report("test_loss"), 0);
  }
}

// With threads or with processes as workers, the sums are the same in the same order.
TEST(ApiJob, IsBitEqualWithWorkersOfEitherKind) {
  TestJob threads(SmallJob());
  threads.RunFine();
  const std::string program = MotleyProgram();
  const char* const command[] = {program.c_str(), "worker", nullptr};
  motley_job_options options = SmallJob();
  options.worker_command = command;
  TestJob processes(options);
  processes.RunFine();
  EXPECT_EQ(threads.Parameters(), processes.Parameters());
  EXPECT_EQ(threads.Report("final_loss"), processes.Report("final_loss"));
}

TEST(ApiJob, FaultsChangeNothingWithThreads) {
  TestJob undisturbed(SmallJob());
  undisturbed.RunFine();
  motley_job_options options = SmallJob();
  options.workers = 4;
  options.faults = "kill:0@step=3 pause:1@step=5,100ms  nan:2@step=7";
  TestJob disturbed(options);
  std::map<int32_t, int> seen;
  disturbed.OnEvent([&](const motley_event& event) { ++seen[event.kind]; });
  disturbed.RunFine();
  EXPECT_EQ(seen[MOTLEY_EVENT_WORKER_JOINED], 4);
  EXPECT_EQ(seen[MOTLEY_EVENT_WORKER_LOST], 1);
  EXPECT_EQ(disturbed.Metrics().workers, 3U);
  const double expected = undisturbed.Report("final_loss");
  EXPECT_NEAR(disturbed.Report("final_loss"), expected, 1e-4 * expected);
}

TEST(ApiJob, SpeedsAreEmulatedWithThreads) {
  motley_job_options options = SmallJob();
  options.worker_speeds = "1,0.5";
  options.sample_time = "100us";
  options.faults = "slow:1@step=2,2x";
  TestJob job(options);
  job.RunFine();
  EXPECT_THAT(motley_job_report(job.get()), HasSubstr("\"emulation\""));
}

TEST(ApiJob, EventsTellTheStepsInOrder) {
  TestJob job(SmallJob());
  std::vector<uint64_t> applied;
  uint64_t last_ns = 0;
  job.OnEvent([&](const motley_event& event) {
    EXPECT_EQ(event.struct_size, sizeof(motley_event));
    EXPECT_NE(event.text, nullptr);
    EXPECT_GE(event.time_ns, last_ns);
    last_ns = event.time_ns;
    if (event.kind != MOTLEY_EVENT_STEP_APPLIED) return;
    applied.push_back(event.step);
    EXPECT_TRUE(std::isfinite(event.loss));
    EXPECT_EQ(job.Metrics().steps, event.step + 1);
    EXPECT_EQ(job.Metrics().steps_wanted, 12U);
  });
  job.RunFine();
  ASSERT_EQ(applied.size(), 12U);
  for (uint64_t step = 0; step < 12; ++step) EXPECT_EQ(applied[step], step);
}

TEST(ApiJob, WorkersHaveNumbersWhileItRunsAndAfterwards) {
  motley_job_options options = SmallJob();
  options.shares = "equal";
  options.faults = "kill:1@step=6";
  TestJob job(options);
  motley_worker_metrics worker MOTLEY_WORKER_METRICS_INIT;
  EXPECT_EQ(motley_job_worker(job.get(), 0, &worker), MOTLEY_NOT_FOUND);
  uint64_t samples = 0;
  job.OnEvent([&](const motley_event& event) {
    if (event.kind != MOTLEY_EVENT_STEP_APPLIED) return;
    ASSERT_EQ(motley_job_worker(job.get(), 0, &worker), MOTLEY_OK) << motley_last_error();
    EXPECT_GE(worker.samples, samples);
    samples = worker.samples;
    EXPECT_EQ(worker.state, static_cast<uint32_t>(MOTLEY_WORKER_UP));
    EXPECT_STREQ(worker.name, "worker-0");
  });
  job.RunFine();
  EXPECT_GT(samples, 0U);
  ASSERT_EQ(motley_job_worker(job.get(), 0, &worker), MOTLEY_OK);
  EXPECT_GE(worker.samples, samples);
  EXPECT_GT(worker.in_time, 0U);
  ASSERT_EQ(motley_job_worker(job.get(), 1, &worker), MOTLEY_OK);
  EXPECT_EQ(worker.state, static_cast<uint32_t>(MOTLEY_WORKER_LOST));
  EXPECT_EQ(motley_job_worker(job.get(), 2, &worker), MOTLEY_NOT_FOUND);
  EXPECT_THAT(motley_last_error(), HasSubstr("no worker 2 has joined yet"));
}

TEST(ApiJob, MetricsSayWhetherItMayEndEarly) {
  motley_job_options options = SmallJob();
  for (const int32_t patience : {0, 3}) {
    options.patience = patience;
    TestJob job(options);
    job.RunFine();
    EXPECT_EQ(job.Metrics().ends_early, patience > 0 ? 1U : 0U);
  }
}

TEST(ApiJob, RunsOnce) {
  TestJob job(SmallJob());
  EXPECT_EQ(motley_job_report(job.get()), nullptr);
  EXPECT_EQ(motley_job_save(job.get(), TemporaryPath("early").c_str()), MOTLEY_CONFLICT);
  job.RunFine();
  EXPECT_EQ(job.Run(), MOTLEY_CONFLICT);
  EXPECT_THAT(motley_last_error(), HasSubstr("once"));
  EXPECT_EQ(job.SetTrainer(PointTrainer()), MOTLEY_CONFLICT);
  EXPECT_EQ(motley_job_set_events(job.get(), nullptr, nullptr), MOTLEY_CONFLICT);
  EXPECT_NE(motley_job_report(job.get()), nullptr);
}

TEST(ApiJob, CannotRunInsideItself) {
  TestJob job(SmallJob());
  motley_status inner = MOTLEY_OK;
  job.OnEvent([&](const motley_event& event) {
    if (event.kind == MOTLEY_EVENT_STEP_OPENED) inner = job.Run();
  });
  job.RunFine();
  EXPECT_EQ(inner, MOTLEY_CONFLICT);
}

TEST(ApiJob, CannotBeDestroyedInsideItself) {
  TestJob job(SmallJob());
  std::string said;
  job.OnEvent([&](const motley_event& event) {
    if (event.kind != MOTLEY_EVENT_STEP_OPENED) return;
    motley_job_destroy(job.get());
    said = motley_last_error();
  });
  job.RunFine();
  EXPECT_THAT(said, HasSubstr("the job is running and was not destroyed"));
  EXPECT_NE(motley_job_report(job.get()), nullptr);
}

TEST(ApiJob, MayBeDestroyedWithoutARunAndLeavesNothingOpen) {
  // More than the usual limit of open files of a process.
  for (int i = 0; i < 2000; ++i) {
    TestJob job(SmallJob());
    if (testing::Test::HasFailure()) return;
  }
}

TEST(ApiJob, MissingDataIsNotFound) {
  motley_job_options options = SmallJob();
  options.data = "/nowhere/data.csv";
  TestJob job(options);
  EXPECT_EQ(job.Run(), MOTLEY_NOT_FOUND);
  EXPECT_THAT(motley_last_error(), HasSubstr("/nowhere/data.csv"));
  EXPECT_EQ(motley_job_report(job.get()), nullptr);
}

TEST(ApiJob, WorkerProgramThatIsNotThereIsNamed) {
  const char* const command[] = {"/nowhere/worker", nullptr};
  motley_job_options options = SmallJob();
  options.worker_command = command;
  TestJob job(options);
  EXPECT_EQ(job.Run(), MOTLEY_RESOURCE);
  EXPECT_THAT(motley_last_error(), HasSubstr("/nowhere/worker"));
}

TEST(ApiJob, JobWithoutWorkersIsUnavailable) {
  motley_job_options options = SmallJob();
  options.faults = "kill:0@step=3 kill:1@step=3";
  TestJob job(options);
  EXPECT_EQ(job.Run(), MOTLEY_UNAVAILABLE);
  EXPECT_THAT(motley_last_error(), HasSubstr("after 3 of 12 steps"));
  EXPECT_EQ(job.Metrics().steps, 3U);
}

TEST(ApiJob, ManyRunAtTheSameTime) {
  std::vector<std::vector<float>> found(3);
  std::vector<std::thread> threads;
  for (auto& parameters : found) {
    threads.emplace_back([&parameters] {
      TestJob job(SmallJob());
      job.RunFine();
      parameters = job.Parameters();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(found[0], found[1]);
  EXPECT_EQ(found[0], found[2]);
}

TEST(ApiJob, SignalsStayTheProgramsAffair) {
  struct sigaction before {};
  ASSERT_EQ(sigaction(SIGPIPE, nullptr, &before), 0);
  ASSERT_EQ(before.sa_handler, SIG_DFL) << "else the test shows nothing";
  sigset_t blocked_before{};
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked_before);
  const std::string program = MotleyProgram();
  const char* const command[] = {program.c_str(), "worker", nullptr};
  motley_job_options options = SmallJob();
  options.worker_command = command;
  TestJob(options).RunFine();
  struct sigaction after {};
  ASSERT_EQ(sigaction(SIGPIPE, nullptr, &after), 0);
  EXPECT_EQ(after.sa_handler, SIG_DFL);
  sigset_t blocked_after{};
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked_after);
  EXPECT_EQ(sigismember(&blocked_after, SIGPIPE), sigismember(&blocked_before, SIGPIPE));
}

// Variables in the environment that name a server do not make a program a started worker.
TEST(ApiJob, MakingAWorkerTiesThisProcessToNobody) {
  int before = -1;
  ASSERT_EQ(prctl(PR_GET_PDEATHSIG, &before), 0);
  motley_job_options options MOTLEY_JOB_OPTIONS_INIT;
  options.role = MOTLEY_WORKER;
  setenv("MOTLEY_SERVER", "nowhere", 1);
  setenv("MOTLEY_TOKEN", "t", 1);
  setenv("MOTLEY_WORKER_INDEX", "0", 1);
  {
    TestJob job(options);
    int made = -1;
    ASSERT_EQ(prctl(PR_GET_PDEATHSIG, &made), 0);
    EXPECT_EQ(made, before);
    EXPECT_NE(job.Run(), MOTLEY_OK);
    ASSERT_EQ(prctl(PR_GET_PDEATHSIG, &made), 0);
    EXPECT_EQ(made, before);
  }
  for (const char* name : {"MOTLEY_SERVER", "MOTLEY_TOKEN", "MOTLEY_WORKER_INDEX"}) unsetenv(name);
}

TEST(ApiJob, ExceptionsOfTheEventCallbackEndIt) {
  TestJob job(SmallJob());
  int called = 0;
  job.OnEvent([&](const motley_event& event) {
    if (event.kind != MOTLEY_EVENT_STEP_APPLIED) return;
    ++called;
    (void)std::stoi("no number");
  });
  EXPECT_EQ(job.Run(), MOTLEY_CALLBACK);
  EXPECT_THAT(motley_last_error(), HasSubstr("event callback threw an exception: stoi"));
  EXPECT_EQ(called, 1);
}

TEST(ApiJob, MessagesBelongToTheirThread) {
  EXPECT_EQ(motley_job_run(nullptr), MOTLEY_INVALID_ARGUMENT);
  std::thread([] { EXPECT_STREQ(motley_last_error(), ""); }).join();
  EXPECT_THAT(motley_last_error(), HasSubstr("NULL"));
}

// A job that would run for very long.
motley_job_options EndlessJob() {
  motley_job_options options = SmallJob();
  options.steps = uint64_t{1} << 39;
  return options;
}

TEST(ApiStop, BeforeARunItEndsAtOnce) {
  TestJob job(EndlessJob());
  motley_job_stop(job.get());
  EXPECT_EQ(job.Run(), MOTLEY_CANCELLED);
}

TEST(ApiStop, FromACallback) {
  TestJob job(EndlessJob());
  job.OnEvent([&](const motley_event& event) {
    if (event.kind == MOTLEY_EVENT_STEP_APPLIED && event.step == 4) motley_job_stop(job.get());
  });
  EXPECT_EQ(job.Run(), MOTLEY_CANCELLED);
  EXPECT_THAT(motley_last_error(), HasSubstr("stopped after"));
  EXPECT_GE(job.Metrics().steps, 5U);
  EXPECT_EQ(job.Parameters().size(), 21U);  // The parameters so far.
  EXPECT_GE(job.Report("steps"), 5);
}

TEST(ApiStop, FromAnotherThread) {
  TestJob job(EndlessJob());
  std::thread stopper;
  job.OnEvent([&](const motley_event& event) {
    if (event.kind != MOTLEY_EVENT_STEP_APPLIED || event.step != 2) return;
    stopper = std::thread([&] { motley_job_stop(job.get()); });
  });
  EXPECT_EQ(job.Run(), MOTLEY_CANCELLED);
  stopper.join();
}

// The workers of this job leave because of the stop, and are not the reason for its end.
TEST(ApiStop, BeforeTrainingBegins) {
  TestJob job(EndlessJob());
  job.OnEvent([&](const motley_event& event) {
    if (event.kind == MOTLEY_EVENT_WORKER_JOINED) motley_job_stop(job.get());
  });
  EXPECT_EQ(job.Run(), MOTLEY_CANCELLED) << motley_last_error();
}

// The worker of this job stays for a second after the goodbye, and then writes a file.
TEST(ApiStop, TheSecondTimeNobodyWaitsForGoodbyes) {
  const std::string trace = TemporaryPath("farewell");
  const std::string script = MotleyProgram() + " worker; sleep 1; : > " + trace;
  const char* const command[] = {"/bin/sh", "-c", script.c_str(), nullptr};
  motley_job_options options = EndlessJob();
  options.worker_command = command;
  TestJob job(options);
  job.OnEvent([&](const motley_event& event) {
    if (event.kind != MOTLEY_EVENT_STEP_APPLIED || event.step != 2) return;
    motley_job_stop(job.get());
    motley_job_stop(job.get());
  });
  EXPECT_EQ(job.Run(), MOTLEY_CANCELLED);
  EXPECT_NE(access(trace.c_str(), F_OK), 0) << "it was waited for";
}

TEST(ApiStop, ServerThatStillWaitsForWorkers) {
  motley_job_options options = SmallJob();
  options.role = MOTLEY_SERVER;
  TestJob job(options);
  job.OnEvent([&](const motley_event& event) {
    if (event.kind == MOTLEY_EVENT_LISTENING) motley_job_stop(job.get());
  });
  EXPECT_EQ(job.Run(), MOTLEY_CANCELLED);
}

TEST(ApiModel, SavedModelIsEvaluatedLikeTheJobs) {
  TestJob job(SmallJob());
  job.RunFine();
  const std::string path = TemporaryPath("model.safetensors");
  ASSERT_EQ(motley_job_save(job.get(), path.c_str()), MOTLEY_OK) << motley_last_error();
  motley_evaluation found MOTLEY_EVALUATION_INIT;
  ASSERT_EQ(motley_evaluate(path.c_str(), SampleFile().c_str(), nullptr, &found), MOTLEY_OK)
      << motley_last_error();
  EXPECT_EQ(found.count, 400U);
  EXPECT_EQ(found.classifies, 1U);
  EXPECT_GT(found.accuracy, 0.8);
  // 320 samples for training, the other 80 for testing.
  EXPECT_NEAR(found.loss, 0.8 * job.Report("final_loss") + 0.2 * job.Report("test_loss"), 1e-6);
  EXPECT_GT(found.f1, 0.8);
  EXPECT_EQ(found.log_loss, found.loss);
  EXPECT_TRUE(std::isnan(found.r2) && std::isnan(found.rmse) && std::isnan(found.mae));
  ASSERT_NE(motley_last_evaluation(), nullptr);
  const auto text = nlohmann::json::parse(motley_last_evaluation());
  EXPECT_EQ(text["count"], 400);
  EXPECT_EQ(text["loss"], found.loss);
  uint64_t samples = 0;
  for (const auto& row : text["confusion"]["matrix"]) {
    for (const auto& count : row) samples += count.get<uint64_t>();
  }
  EXPECT_EQ(samples, 400U);
  EXPECT_EQ(motley_evaluate("/nowhere", SampleFile().c_str(), nullptr, &found), MOTLEY_NOT_FOUND);
  EXPECT_EQ(motley_last_evaluation(), nullptr);
}

TEST(ApiModel, SavedModelPredictsEachSample) {
  TestJob job(SmallJob());
  job.RunFine();
  const std::string model = TemporaryPath("predicts.safetensors");
  ASSERT_EQ(motley_job_save(job.get(), model.c_str()), MOTLEY_OK) << motley_last_error();
  const std::string out = TemporaryPath("predictions.csv");
  motley_predict_options options MOTLEY_PREDICT_OPTIONS_INIT;
  options.model = model.c_str();
  options.data = SampleFile().c_str();
  options.out = out.c_str();
  motley_evaluation tested MOTLEY_EVALUATION_INIT;
  uint64_t count = 0;
  ASSERT_EQ(motley_predict(&options, &tested, &count), MOTLEY_OK) << motley_last_error();
  EXPECT_EQ(count, 400U);
  EXPECT_EQ(tested.count, 400U);
  std::ifstream file(out);
  uint64_t lines = 0;
  for (std::string line; std::getline(file, line);) ++lines;
  EXPECT_EQ(lines, 401U) << "one line of names";
  motley_evaluation evaluated MOTLEY_EVALUATION_INIT;
  ASSERT_EQ(motley_evaluate(model.c_str(), options.data, nullptr, &evaluated), MOTLEY_OK);
  EXPECT_EQ(tested.accuracy, evaluated.accuracy);
  options.model = "/nowhere";
  EXPECT_EQ(motley_predict(&options, nullptr, nullptr), MOTLEY_NOT_FOUND);
}

// The events of a job that judges its progress.
TEST(ApiJob, TellsItsJudgementsAndRates) {
  motley_job_options options = SmallJob();
  options.evaluate_every = "4";
  options.learning_rate = 0.1;
  options.schedule = "step:every=6,factor=0.5";
  TestJob job(options);
  std::vector<motley_event> judged;
  std::vector<std::string> texts;
  job.OnEvent([&](const motley_event& event) {
    if (event.kind != MOTLEY_EVENT_JUDGED) return;
    judged.push_back(event);
    texts.emplace_back(event.text);
  });
  job.RunFine();
  ASSERT_EQ(judged.size(), 3U);
  EXPECT_EQ(judged[2].step, 12U);
  EXPECT_GT(judged[0].loss, judged[2].loss);
  const auto found = nlohmann::json::parse(texts[2]);
  EXPECT_EQ(found["validation"]["count"], 32);
  EXPECT_FALSE(found["validation"].contains("confusion"));
  EXPECT_DOUBLE_EQ(job.Metrics().learning_rate, 0.05);
}

TEST(ApiModel, WhatIsNoModelIsRefused) {
  motley_evaluation found MOTLEY_EVALUATION_INIT;
  EXPECT_EQ(motley_evaluate("/nowhere", SampleFile().c_str(), nullptr, &found), MOTLEY_NOT_FOUND);
  EXPECT_EQ(motley_evaluate(SampleFile().c_str(), SampleFile().c_str(), nullptr, &found),
            MOTLEY_DATA_ERROR);
  found.struct_size = 1;
  EXPECT_EQ(motley_evaluate("/nowhere", SampleFile().c_str(), nullptr, &found), MOTLEY_NOT_FOUND);
}

TEST(ApiModel, UnwritablePlaceIsNamed) {
  TestJob job(SmallJob());
  job.RunFine();
  EXPECT_NE(motley_job_save(job.get(), "/nowhere/model"), MOTLEY_OK);
  EXPECT_THAT(motley_last_error(), HasSubstr("/nowhere/model"));
}

}  // namespace
}  // namespace motley
