// SPDX-License-Identifier: Apache-2.0
// In each job another allocation on the loop's thread fails. The job ends in good order, and its
// last checkpoint has what it trained.
#include <gtest/gtest.h>
#include <motley/motley.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <string>

#include "tests/api/api_world.h"

namespace {

// Allocations of this thread until one fails; -1: none fails.
thread_local int64_t fail_after = -1;
std::atomic<int> failed{0};

bool FailsNow() {
  if (fail_after < 0 || --fail_after >= 0) return false;
  ++failed;
  return true;
}

}  // namespace

[[gnu::noinline]] void* operator new(size_t size) {
  void* const memory = FailsNow() ? nullptr : std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace motley {
namespace {

struct Ended {
  motley_status status = MOTLEY_OK;
  std::string why;
  uint64_t steps = 0;
  uint64_t saved = 0;  // Steps in the newest checkpoint.
};

// Runs a job in which this thread's allocation number `allocation` fails, counted after some steps.
Ended RunWith(int64_t allocation, const char* const* command) {
  const std::string folder = TemporaryPath("out_of_memory");
  std::filesystem::remove_all(folder);
  motley_job_options options = SmallJob();
  options.steps = 60;
  options.code = "none";
  options.checkpoint = folder.c_str();
  options.checkpoint_every = 1000;  // Only the last checkpoint is written.
  options.worker_command = command;
  TestJob job(options);
  job.OnEvent([allocation](const motley_event& event) {
    if (event.kind == MOTLEY_EVENT_STEP_APPLIED && event.step == 20) fail_after = allocation;
  });
  Ended ended;
  ended.status = job.Run();
  fail_after = -1;
  ended.why = motley_last_error();
  ended.steps = job.Metrics().steps;
  ended.saved = job.Metrics().checkpoint_step;
  return ended;
}

void ExpectGoodOrder(const char* const* command) {
  int reported = 0;
  for (int64_t allocation = 0; allocation < 400; allocation += 7) {
    failed = 0;
    const Ended ended = RunWith(allocation, command);
    ASSERT_LE(failed, 1);
    if (ended.status == MOTLEY_OK) {
      EXPECT_EQ(ended.steps, 60u);
      continue;  // The allocation was not essential, or only the worker was affected.
    }
    ++reported;
    EXPECT_EQ(ended.status, MOTLEY_RESOURCE) << allocation << ": " << ended.why;
    EXPECT_GE(ended.steps, 21u) << allocation;
    EXPECT_EQ(ended.saved, ended.steps) << allocation << ": " << ended.why;
  }
  EXPECT_GT(reported, 5);
}

TEST(OutOfMemory, OnTheLoopStillSavesWhatWasTrained) { ExpectGoodOrder(nullptr); }

TEST(OutOfMemory, OnTheLoopOfAServerOfProcessesStillSavesWhatWasTrained) {
  const std::string program = MotleyProgram();
  const char* const command[] = {program.c_str(), "worker", nullptr};
  ExpectGoodOrder(command);
}

}  // namespace
}  // namespace motley
