// SPDX-License-Identifier: Apache-2.0
// A job must not disturb its host program: descriptors, signals, memory.
#include <dirent.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "api/workers/local_workers.h"
#include "base/host.h"
#include "runtime/memory_need.h"
#include "tests/api/api_world.h"

namespace motley {
namespace {

using testing::HasSubstr;

size_t OpenDescriptors() {
  size_t count = 0;
  DIR* const folder = opendir("/proc/self/fd");
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

TEST(HostProgram, AJobThatIsOnlyMadeHasNoDescriptors) {
  const size_t before = OpenDescriptors();
  const TestJob job(SmallJob());
  EXPECT_EQ(OpenDescriptors(), before);
}

// Parent and child run the job that was created before the fork.
TEST(HostProgram, MayForkBetweenMakingAJobAndRunningIt) {
  TestJob job(SmallJob());
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(job.Run() == MOTLEY_OK ? 0 : 1);
  EXPECT_EQ(job.Run(), MOTLEY_OK) << motley_last_error();
  int how = 0;
  ASSERT_EQ(waitpid(child, &how, 0), child);
  EXPECT_TRUE(WIFEXITED(how));
  EXPECT_EQ(WEXITSTATUS(how), 0);
}

TEST(HostProgram, MayStopAJobBeforeItRuns) {
  TestJob job(SmallJob());
  motley_job_stop(job.get());
  EXPECT_EQ(job.Run(), MOTLEY_CANCELLED);
}

void OnChild(int) {}

TEST(HostProgram, HasItsHandlerOfChildrenBackAfterAJobWithProcesses) {
  struct sigaction mine {};
  mine.sa_handler = OnChild;
  mine.sa_flags = SA_RESTART;
  struct sigaction before {};
  ASSERT_EQ(sigaction(SIGCHLD, &mine, &before), 0);
  const std::string program = MotleyProgram();
  const char* const command[] = {program.c_str(), "worker", nullptr};
  motley_job_options options = SmallJob();
  options.worker_command = command;
  for (int run = 0; run < 2; ++run) {
    TestJob job(options);
    job.RunFine();
    struct sigaction now {};
    ASSERT_EQ(sigaction(SIGCHLD, nullptr, &now), 0);
    EXPECT_EQ(now.sa_handler, OnChild) << run;
  }
  sigaction(SIGCHLD, &before, nullptr);
}

TEST(LocalMemory, OfTheServerAndAllWorkersIsAddedUp) {
  JobOptions options;
  options.workers = 8;
  const std::vector<DeviceGroup> devices(8, DeviceGroup{{ListedDevice{.is_processor = true}}});
  const uint64_t all = 4000 * (ServerVectors(options) + 8 * WorkerVectors());
  EXPECT_TRUE(CheckTogether(options, 1000, devices, all).ok());
  const Status refused = CheckTogether(options, 1000, devices, all - 1);
  EXPECT_EQ(refused.code(), StatusCode::kResource);
  EXPECT_THAT(refused.message(), HasSubstr("the server and its 8 workers on this machine"));
}

// A model for which the server alone, or any worker alone, would have enough memory.
TEST(LocalMemory, AJobWhoseWorkersDoNotFitTogetherIsRefusedBeforeItTakesAny) {
  constexpr uint32_t kWorkers = 64;
  const double half = std::sqrt(2.0 * static_cast<double>(SharedMemoryBytes()) /
                                (kWorkers * WorkerVectors() * sizeof(float)));
  const std::string model = "mlp:" + std::to_string(static_cast<int>(half)) + "," +
                            std::to_string(static_cast<int>(half));
  motley_job_options options = SmallJob();
  options.model = model.c_str();
  options.workers = kWorkers;
  options.code = "none";
  TestJob job(options);
  EXPECT_EQ(job.Run(), MOTLEY_RESOURCE);
  EXPECT_THAT(motley_last_error(), HasSubstr("the server and its 64 workers on this machine"));
}

TEST(Tokens, ThatCanBeGuessedAreRefusedWhereOtherMachinesCanConnect) {
  motley_job_options options = SmallJob();
  options.role = MOTLEY_SERVER;
  options.token = "a";
  motley_job* job = nullptr;
  for (const char* everywhere : {"0.0.0.0:0", "[::]:0", "tcp://192.0.2.1:0", "lab.example:7000"}) {
    options.listen = everywhere;
    EXPECT_EQ(motley_job_create(&options, &job), MOTLEY_INVALID_ARGUMENT) << everywhere;
    EXPECT_THAT(motley_last_error(), HasSubstr("1 characters are guessed soon"));
  }
  for (const char* here : {"127.0.0.1:0", "[::1]:0", "localhost:0", "tcp://127.0.0.1:0"}) {
    options.listen = here;
    EXPECT_EQ(motley_job_create(&options, &job), MOTLEY_OK) << here << motley_last_error();
    motley_job_destroy(job);
  }
  options.listen = "0.0.0.0:0";
  options.token = "0123456789abcdef";
  EXPECT_EQ(motley_job_create(&options, &job), MOTLEY_OK) << motley_last_error();
  motley_job_destroy(job);
}

TEST(Tokens, ThatNoWorkerCouldShowAreRefusedAtBothEnds) {
  const std::string most(1024, 'x'), more(1025, 'x');
  for (const int32_t role : {MOTLEY_SERVER, MOTLEY_WORKER}) {
    motley_job_options options = SmallJob();
    options.role = role;
    options.server = "127.0.0.1:1";
    options.token = more.c_str();
    motley_job* job = nullptr;
    EXPECT_EQ(motley_job_create(&options, &job), MOTLEY_INVALID_ARGUMENT) << role;
    EXPECT_THAT(motley_last_error(), HasSubstr("at most 1024"));
    options.token = most.c_str();
    EXPECT_EQ(motley_job_create(&options, &job), MOTLEY_OK) << motley_last_error();
    motley_job_destroy(job);
  }
}

TEST(StepLimit, IsANumberOfSecondsOrNothing) {
  motley_job* job = nullptr;
  for (const double wrong : {-1.0, 0.01, 1e7, std::nan("")}) {
    motley_job_options options = SmallJob();
    options.step_limit = wrong;
    EXPECT_EQ(motley_job_create(&options, &job), MOTLEY_INVALID_ARGUMENT) << wrong;
    EXPECT_THAT(motley_last_error(), HasSubstr("`step_limit`"));
  }
  motley_job_options options = SmallJob();
  options.step_limit = 60;
  TestJob fine(options);
  fine.RunFine();
}

}  // namespace
}  // namespace motley
