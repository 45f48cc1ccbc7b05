// SPDX-License-Identifier: Apache-2.0
#include "runtime/uv_loop.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/sanitizer.h"
#include "devices/cpu/cpu_device.h"
#include "tests/conformance/address_limit.h"

namespace motley {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

std::unique_ptr<UvLoop> MakeLoop() {
  auto loop = UvLoop::Create();
  EXPECT_TRUE(loop.ok()) << loop.status().ToString();
  return std::move(loop).value();
}

// Leaves `free` descriptors in a process whose libuv has made no loop yet. Returns 0 for a loop and
// 1 for a kResource with a message. libuv itself would end the process.
int CreateWithFree(int free) {
  std::vector<int> taken;
  for (int fd = dup(0); fd >= 0 && taken.size() < 100'000; fd = dup(0)) taken.push_back(fd);
  for (int i = 0; i < free && !taken.empty(); ++i) {
    close(taken.back());
    taken.pop_back();
  }
  const auto loop = UvLoop::Create();
  if (loop.ok()) return 0;
  const bool told = loop.code() == StatusCode::kResource &&
                    loop.status().message().find("ulimit -n") != std::string::npos;
  return told ? 1 : 2;
}

TEST(UvLoopDeath, TooFewDescriptorsAreAnErrorAndNoAbort) {
  // The test runs in a process of its own from the start.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const rlimit few{64, 64};
  for (int free = 0; free <= 9; ++free) {
    const auto child = [&] {
      setrlimit(RLIMIT_NOFILE, &few);
      _exit(CreateWithFree(free));
    };
    EXPECT_EXIT(child(), testing::ExitedWithCode(free < 7 ? 1 : 0), "") << free;
  }
}

TEST(UvLoop, PostedTasksRunInOrderAndNeverInsidePost) {
  const auto loop = MakeLoop();
  std::vector<int> order;
  loop->Post([&] {
    loop->Post([&] {
      order.push_back(3);
      loop->Stop();
    });
    order.push_back(1);
  });
  loop->Post([&] { order.push_back(2); });
  EXPECT_TRUE(order.empty());
  loop->Run();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

TEST(UvLoop, TasksPostedByOtherThreadsAllRunInTheirOrder) {
  const auto loop = MakeLoop();
  constexpr int kThreads = 4;
  constexpr int kTasks = 1000;
  std::vector<std::vector<int>> seen(kThreads);
  int total = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kTasks; ++i) {
        loop->Post([&, t, i] {
          seen[t].push_back(i);
          if (++total == kThreads * kTasks) loop->Stop();
        });
      }
    });
  }
  loop->Run();
  for (std::thread& thread : threads) thread.join();
  for (const auto& one : seen) {
    ASSERT_EQ(one.size(), static_cast<size_t>(kTasks));
    for (int i = 0; i < kTasks; ++i) ASSERT_EQ(one[i], i);
  }
}

TEST(UvLoop, TimersRunInTimeOrderAndNeverEarly) {
  const auto loop = MakeLoop();
  std::vector<int> order;
  const Time start = loop->Now();
  const auto record = [&](int what, Duration delay) {
    loop->After(delay, [&, what, delay] {
      EXPECT_GE(loop->Now() - start, delay);
      order.push_back(what);
      if (order.size() == 4) loop->Stop();
    });
  };
  record(3, milliseconds(3));
  record(2, microseconds(1500));
  record(1, Duration::zero());
  record(4, milliseconds(3) + microseconds(500));
  loop->Run();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3, 4}));
}

TEST(UvLoop, TimersOfOneMomentRunInTheOrderSet) {
  const auto loop = MakeLoop();
  std::vector<int> order;
  for (int i = 0; i < 100; ++i) {
    loop->After(Duration::zero(), [&, i] {
      order.push_back(i);
      if (i == 99) loop->Stop();
    });
  }
  loop->Run();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[i], i);
}

TEST(UvLoop, CancelledTimersNeverRun) {
  const auto loop = MakeLoop();
  bool ran = false;
  const TimerId first = loop->After(Duration::zero(), [&] { ran = true; });
  TimerId second = 0;
  loop->After(Duration::zero(), [&] { loop->Cancel(second); });
  second = loop->After(Duration::zero(), [&] { ran = true; });
  const TimerId last = loop->After(milliseconds(1), [&] { loop->Stop(); });
  loop->Cancel(first);
  loop->Run();
  EXPECT_FALSE(ran);
  loop->Cancel(last);      // The timer has run already.
  loop->Cancel(last + 1);  // There was no such timer.
}

TEST(UvLoop, ChainOfZeroDelaysStarvesNobody) {
  const auto loop = MakeLoop();
  bool stopped = false;
  std::function<void()> again = [&] {
    if (!stopped) loop->After(Duration::zero(), again);
  };
  again();
  loop->Post([&] {
    stopped = true;
    loop->Stop();
  });
  loop->Run();
  EXPECT_TRUE(stopped);
}

TEST(UvLoop, FarTimersDoNotOverflow) {
  const auto loop = MakeLoop();
  loop->After(Duration::max(), [] { FAIL(); });
  loop->Post([&] { loop->Stop(); });
  loop->Run();
}

TEST(UvLoop, StopBeforeRunReturnsAtOnceAndTheNextRunGoesOn) {
  const auto loop = MakeLoop();
  int ran = 0;
  loop->Post([&] {
    ++ran;
    loop->Stop();
  });
  loop->Stop();
  loop->Run();
  EXPECT_EQ(ran, 0);
  loop->Run();
  EXPECT_EQ(ran, 1);
}

TEST(UvLoop, DestructionDropsWaitingTasksAndWhatTheyHold) {
  auto loop = MakeLoop();
  const auto held = std::make_shared<int>(1);
  loop->Post([held] { FAIL(); });
  loop->After(Duration::zero(), [held] { FAIL(); });
  loop->Stop();
  EXPECT_EQ(held.use_count(), 3);
  loop.reset();
  EXPECT_EQ(held.use_count(), 1);
}

TEST(UvLoop, MemoryThatRunsOutInATaskIsToldAndTheLoopGoesOn) {
  const auto loop = UvLoop::Create().value();
  const auto fail = [] { std::vector<char>(std::numeric_limits<ptrdiff_t>::max()); };
  int told = 0;
  loop->SetOutOfMemory([&] { ++told; });
  bool after = false;
  loop->Post(fail);
  loop->After(Duration::zero(), fail);
  loop->Post([&] { after = true; });
  loop->After(std::chrono::milliseconds(1), [&] { loop->Stop(); });
  loop->Run();
  EXPECT_EQ(told, 2);
  EXPECT_TRUE(after);
}

TEST(UvLoop, TellsOnceMoreWhenMemoryRunsOutWhileItTells) {
  const auto loop = UvLoop::Create().value();
  const auto fail = [] { std::vector<char>(std::numeric_limits<ptrdiff_t>::max()); };
  int told = 0;
  loop->SetOutOfMemory([&] {
    if (++told == 1) fail();
    loop->Stop();
  });
  loop->Post(fail);
  EXPECT_NO_THROW(loop->Run());
  EXPECT_EQ(told, 2);
}

TEST(UvLoop, AnExceptionLeavesRunAfterTheTurnAndTheLoopStaysUsable) {
  const auto loop = MakeLoop();
  bool after = false;
  loop->Post([] { throw std::runtime_error("first"); });
  loop->Post([] { throw std::logic_error("second"); });
  loop->Post([&] { after = true; });
  EXPECT_THROW(loop->Run(), std::runtime_error);
  EXPECT_TRUE(after);
  loop->After(Duration::zero(), [] { throw std::bad_alloc(); });
  EXPECT_THROW(loop->Run(), std::bad_alloc);
  loop->Post([&] { loop->Stop(); });
  EXPECT_NO_THROW(loop->Run());
}

TEST(UvLoop, MemoryThatRunsOutAgainAndAgainEndsTheRun) {
  const auto loop = MakeLoop();
  int calls = 0;
  loop->SetOutOfMemory([&] {
    ++calls;
    throw std::bad_alloc();
  });
  loop->Post([] { throw std::bad_alloc(); });
  EXPECT_THROW(loop->Run(), std::bad_alloc);
  EXPECT_EQ(calls, 2);
}

TEST(UvLoop, OtherExceptionsLeaveRunWhoeverListensForMemory) {
  const auto loop = MakeLoop();
  loop->SetOutOfMemory([] { FAIL(); });
  loop->Post([] { throw std::runtime_error("not of memory"); });
  EXPECT_THROW(loop->Run(), std::runtime_error);
}

#if !MOTLEY_ADDRESS_SANITIZER && !MOTLEY_THREAD_SANITIZER  // Sanitizers need all addresses.
// Work of a device takes all memory that there is. Exits with 0 when the device reports it.
void TakeAllMemoryInWork() {
  const auto loop = UvLoop::Create().value();
  const auto device = MakeCpuDevice(*loop, {.threads = 1}).value();
  const auto take_all = []() -> Status {
    const rlimit taken{rlim_t{1} << 20, rlim_t{1} << 20};  // Less than there is already.
    if (setrlimit(RLIMIT_AS, &taken) != 0) return Status::Ok();
    void* volatile taken_last = nullptr;  // Volatile, so that no compiler leaves the calls out.
    for (size_t size = 1 << 20; size >= 16; size /= 2) {
      do taken_last = malloc(size);
      while (taken_last != nullptr);
    }
    throw std::bad_alloc();
  };
  device->Submit(1, take_all, [](const Status& status) {
    _exit(status.code() == StatusCode::kResource ? 0 : 1);
  });
  loop->Run();
}

TEST(UvLoopDeath, WorkThatTakesAllMemoryIsReported) {
  if (!conformance::AddressesCanBeLimited()) GTEST_SKIP() << conformance::kNoAddressLimit;
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(TakeAllMemoryInWork(), testing::ExitedWithCode(0), "");
}
#endif

TEST(UvLoop, LoopsAreIndependent) {
  const auto a = MakeLoop();
  const auto b = MakeLoop();
  int ran = 0;
  a->Post([&] { ++ran, a->Stop(); });
  b->Post([&] { ++ran, b->Stop(); });
  a->Run();
  EXPECT_EQ(ran, 1);
  b->Run();
  EXPECT_EQ(ran, 2);
}

}  // namespace
}  // namespace motley
