// SPDX-License-Identifier: Apache-2.0
// What a job leaves alone in the program that runs it: descriptors, signals, memory.
#include <dirent.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "tests/api/api_world.h"

namespace motley {
namespace {

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

// Both processes run the job that was made before the fork.
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

}  // namespace
}  // namespace motley
