// SPDX-License-Identifier: Apache-2.0
// Devices that fail: in a worker process with several devices, and in workers that are threads. The
// driver is tests/devices/mock_module.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

#include "api/workers/local_workers.h"
#include "test_paths.h"
#include "tests/api/api_world.h"
#include "tests/api/point_trainer.h"

namespace motley {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr char kModules[] = MOTLEY_BINARY_DIR "/tests/mock_modules";

// Runs `motley worker` and records its output and exit status.
class Worker {
 public:
  Worker(const std::string& listening, const std::string& devices, const std::string& trouble) {
    const size_t space = listening.find(' ');
    const std::string command = "MOTLEY_MODULE_DIR=" + std::string(kModules) +
                                " MOTLEY_MOCK=" + trouble + " MOTLEY_DEVICE_TIMEOUT=2" +
                                " MOTLEY_TOKEN=" + listening.substr(space + 1) + " " +
                                MotleyProgram() + " worker --devices " + devices + " --server " +
                                listening.substr(0, space) + " 2>&1";
    pipe_ = popen(command.c_str(), "r");
  }
  // Waits until it exits.
  int Finish(std::string& said) {
    std::array<char, 1024> line{};
    while (fgets(line.data(), line.size(), pipe_) != nullptr) said += line.data();
    return WEXITSTATUS(pclose(pipe_));
  }

 private:
  FILE* pipe_ = nullptr;
};

class ApiDevices : public testing::Test {
 protected:
  void TearDown() override {
    for (const char* name : {"MOTLEY_MODULE_DIR", "MOTLEY_MOCK", "MOTLEY_DEVICE_TIMEOUT"}) {
      unsetenv(name);
    }
  }
};

class ApiDeviceTroubles : public ApiDevices, public testing::WithParamInterface<const char*> {};

TEST_P(ApiDeviceTroubles, AWorkerOfSeveralGoesOnWithTheOthers) {
  motley_job_options options = SmallJob();
  options.role = MOTLEY_SERVER;
  options.listen = "127.0.0.1:0";
  options.code = "none";
  options.steps = 1'000'000;
  TestJob job(options);
  std::optional<Worker> worker, spare;
  std::string listening, lost;
  bool begun = false;
  uint64_t steps_after = 0;
  job.OnEvent([&](const motley_event& event) {
    begun |= event.kind == MOTLEY_EVENT_STEP_OPENED;
    if (event.kind == MOTLEY_EVENT_LISTENING) {
      listening = event.text;
      worker.emplace(listening, "cpu,opencl", GetParam());
    }
    if (event.kind == MOTLEY_EVENT_WORKER_LOST && lost.empty()) {
      lost = event.text;
      // Before the first step the server waits for a replacement.
      if (!begun) spare.emplace(listening, "cpu", "nothing");
    }
    if (event.kind == MOTLEY_EVENT_STEP_APPLIED && !lost.empty() && ++steps_after == 20) {
      motley_job_stop(job.get());
    }
  });
  EXPECT_EQ(job.Run(), MOTLEY_CANCELLED);
  EXPECT_EQ(steps_after, 20U);
  EXPECT_THAT(lost, HasSubstr("mock 0"));
  std::string said;
  EXPECT_NE(worker->Finish(said), 0) << said;
  EXPECT_THAT(said, HasSubstr("mock 0"));
  if (spare) spare->Finish(said);
}

TEST_P(ApiDeviceTroubles, OfThreadsTheOthersGoOn) {
  setenv("MOTLEY_MODULE_DIR", kModules, 1);
  setenv("MOTLEY_MOCK", GetParam(), 1);
  setenv("MOTLEY_DEVICE_TIMEOUT", "2", 1);
  motley_job_options options = SmallJob();
  options.devices = "cpu,opencl";
  options.code = "none";
  options.steps = 1'000'000;
  TestJob job(options);
  std::string lost;
  uint64_t steps_after = 0;
  job.OnEvent([&](const motley_event& event) {
    if (event.kind == MOTLEY_EVENT_WORKER_LOST && lost.empty()) lost = event.text;
    if (event.kind == MOTLEY_EVENT_STEP_APPLIED && !lost.empty() && ++steps_after == 20) {
      motley_job_stop(job.get());
    }
  });
  EXPECT_EQ(job.Run(), MOTLEY_CANCELLED);
  EXPECT_EQ(steps_after, 20U);
  EXPECT_THAT(lost, HasSubstr("mock 0"));
}

// The devices compute in threads of one process, and a pause affects each of them.
TEST_P(ApiDeviceTroubles, OfJoinedOnesTheOthersDoItsPart) {
  setenv("MOTLEY_MODULE_DIR", kModules, 1);
  setenv("MOTLEY_MOCK", GetParam(), 1);
  setenv("MOTLEY_DEVICE_TIMEOUT", "2", 1);
  motley_job_options options = SmallJob();
  options.devices = "cpu+opencl";
  options.code = "none";
  options.workers = 1;
  options.steps = 1'000'000;
  options.batch = 320;  // Large enough for both devices to take part.
  options.faults = "pause:0@step=3,50ms";
  TestJob job(options);
  std::string said;
  uint64_t steps_after = 0;
  job.OnEvent([&](const motley_event& event) {
    EXPECT_NE(event.kind, MOTLEY_EVENT_WORKER_LOST) << event.text;
    const bool notice = event.kind == MOTLEY_EVENT_NOTICE;
    if (notice && std::string(event.text).find("goes on without") != std::string::npos) {
      said = event.text;
    }
    if (event.kind == MOTLEY_EVENT_STEP_APPLIED && !said.empty() && ++steps_after == 20) {
      motley_job_stop(job.get());
    }
  });
  EXPECT_EQ(job.Run(), MOTLEY_CANCELLED);
  EXPECT_EQ(steps_after, 20U);
  EXPECT_THAT(said, HasSubstr("mock 0"));
}

// Uses the mock and the drivers of this build, such as OpenCL's devices.
TEST_F(ApiDevices, JobsOfSeveralThreadsLookForDevicesAtTheSameTime) {
  setenv("POCL_CACHE_DIR", MOTLEY_BINARY_DIR "/tests/pocl_cache", 0);
  std::vector<std::string> all = {kModules};
  if (const auto found = ChooseDevices("opencl"); found.ok()) all.push_back("");
  for (const std::string& modules : all) {
    setenv("MOTLEY_MODULE_DIR", modules.c_str(), 1);
    if (modules.empty()) unsetenv("MOTLEY_MODULE_DIR");
    std::vector<std::thread> threads;
    for (int number = 0; number < 3; ++number) {
      threads.emplace_back([] {
        for (int run = 0; run < 5; ++run) {
          motley_job_options options = SmallJob();
          options.devices = "opencl";
          options.workers = 1;
          options.steps = 3;
          options.code = "none";
          TestJob(options).RunFine();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

TEST_F(ApiDevices, AFunctionOfTheProgramsIsNotCalledFromSeveralThreads) {
  setenv("MOTLEY_MODULE_DIR", kModules, 1);
  setenv("MOTLEY_MOCK", "nothing", 1);
  motley_job_options options = PointJob();
  options.devices = "cpu+opencl";
  TestJob job(options);
  ASSERT_EQ(job.SetTrainer(PointTrainer()), MOTLEY_OK);
  EXPECT_EQ(job.Run(), MOTLEY_INVALID_ARGUMENT);
  EXPECT_THAT(motley_last_error(), HasSubstr("cpu:0+opencl:0 are joined"));
}

TEST_F(ApiDevices, AWorkerWithoutAnyDeviceSaysWhy) {
  const std::string folder = TemporaryPath("no_modules");
  std::filesystem::create_directories(folder);
  for (const char* set : {"avx512", "avx2", "baseline"}) {
    std::ofstream(folder + "/motley-cpu-" + set + ".so") << "not a library";
  }
  const std::string command = "MOTLEY_MODULE_DIR=" + folder + " MOTLEY_TOKEN=x " + MotleyProgram() +
                              " worker --server 127.0.0.1:1 2>&1";
  FILE* const pipe = popen(command.c_str(), "r");
  std::array<char, 4096> said{};
  const size_t size = fread(said.data(), 1, said.size() - 1, pipe);
  EXPECT_NE(WEXITSTATUS(pclose(pipe)), 0);
  EXPECT_THAT(std::string(said.data(), size),
              AllOf(HasSubstr("no device of this machine can be used"), HasSubstr("cpu:0: "),
                    HasSubstr("cannot load "), Not(HasSubstr("bug"))));
}

TEST(DevicesOfWorkers, TakeTurnsWhenNamedAndLeaveTheRestToTheProcessorElse) {
  std::vector<ListedDevice> devices = {
      {.driver = "cpu", .is_processor = true}, {.driver = "cuda"}, {.driver = "cuda", .index = 1}};
  const auto labels = [&](bool named, uint32_t workers) {
    std::vector<std::string> all;
    for (const DeviceGroup& group : DevicesOfWorkers(EachAlone(devices), named, workers)) {
      all.push_back(group.Label());
    }
    return all;
  };
  EXPECT_THAT(labels(true, 4), ElementsAre("cpu:0", "cuda:0", "cuda:1", "cpu:0"));
  EXPECT_THAT(labels(false, 1), ElementsAre("cuda:0"));
  EXPECT_THAT(labels(false, 2), ElementsAre("cuda:0", "cuda:1"));
  EXPECT_THAT(labels(false, 4), ElementsAre("cuda:0", "cuda:1", "cpu:0", "cpu:0"));
  devices.erase(devices.begin());  // Simulates an unusable device.
  EXPECT_THAT(labels(false, 1), ElementsAre("cuda:0"));
  EXPECT_THAT(labels(false, 4), ElementsAre("cuda:0", "cuda:1", "cuda:0", "cuda:1"));
}

TEST(DevicesOfOne, AreAllCardsJoinedOrTheProcessor) {
  const ListedDevice cpu{.driver = "cpu", .is_processor = true};
  const ListedDevice first{.driver = "cuda"}, second{.driver = "cuda", .index = 1};
  EXPECT_EQ(DevicesOfOne({cpu}).Label(), "cpu:0");
  EXPECT_EQ(DevicesOfOne({cpu, first}).Label(), "cuda:0");
  EXPECT_EQ(DevicesOfOne({cpu, first, second}).Label(), "cuda:0+cuda:1");
  EXPECT_EQ(DevicesOfOne({first, second}).Label(), "cuda:0+cuda:1");
}

INSTANTIATE_TEST_SUITE_P(All, ApiDeviceTroubles,
                         testing::Values("build", "open", "memory", "lost", "hang"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace motley
