// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <functional>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "base/sanitizer.h"
#include "devices/cpu/cpu_device.h"
#include "tests/conformance/address_limit.h"

namespace motley {
namespace {

struct Case {
  const char* name;
  std::unique_ptr<ParallelFor> (*make)();
  size_t threads;
};

class ParallelForTest : public ::testing::TestWithParam<Case> {
 protected:
  using Ranges = std::vector<std::pair<size_t, size_t>>;
  static Ranges Cuts(ParallelFor& parallel, size_t count, size_t grain) {
    std::mutex mutex;
    Ranges ranges;
    parallel.For(count, grain, [&](size_t begin, size_t end) {
      const std::lock_guard lock(mutex);
      ranges.emplace_back(begin, end);
    });
    std::sort(ranges.begin(), ranges.end());
    return ranges;
  }
  const std::unique_ptr<ParallelFor> parallel_ = GetParam().make();
};

TEST_P(ParallelForTest, RangesCoverEverythingOnceAndHaveAtLeastTheGrain) {
  for (const size_t count : {1, 2, 7, 64, 1000}) {
    for (const size_t grain : {1, 3, 64, 5000}) {
      const Ranges ranges = Cuts(*parallel_, count, grain);
      size_t next = 0;
      for (const auto& [begin, end] : ranges) {
        EXPECT_EQ(begin, next);
        EXPECT_GT(end, begin);
        EXPECT_TRUE(end - begin >= grain || end == count);
        next = end;
      }
      EXPECT_EQ(next, count);
    }
  }
}

TEST_P(ParallelForTest, CutsAreThoseOfTheSerialOne) {
  const auto serial = MakeSerialParallelFor();
  for (const size_t count : {1, 65, 777}) {
    for (const size_t grain : {1, 32, 776, 778}) {
      EXPECT_EQ(Cuts(*parallel_, count, grain), Cuts(*serial, count, grain));
    }
  }
}

TEST_P(ParallelForTest, NothingToDoCallsNothing) {
  EXPECT_TRUE(Cuts(*parallel_, 0, 1).empty());
  EXPECT_TRUE(Cuts(*parallel_, 0, 100).empty());
}

TEST_P(ParallelForTest, CallsMayBeNested) {
  std::atomic<size_t> sum{0};
  parallel_->For(10, 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      parallel_->For(100, 7, [&](size_t first, size_t last) { sum += (last - first) * (i + 1); });
    }
  });
  EXPECT_EQ(sum, 5500u);
}

TEST_P(ParallelForTest, SeveralThreadsMayCallAtOnce) {
  std::atomic<size_t> sum{0};
  const auto callers = MakeThreadParallelFor(4);
  callers->For(8, 1, [&](size_t, size_t) {
    parallel_->For(1000, 10, [&](size_t begin, size_t end) { sum += end - begin; });
  });
  EXPECT_EQ(sum, 8000u);
}

TEST_P(ParallelForTest, TellsItsNumberOfThreads) {
  EXPECT_EQ(parallel_->threads(), GetParam().threads);
}

#if !MOTLEY_ADDRESS_SANITIZER && !MOTLEY_THREAD_SANITIZER  // Sanitizers need all addresses.
// From now on this process may take `bytes` more than it has.
void LimitMemory(uint64_t bytes) {
  uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  bytes += pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const rlimit taken{bytes, bytes};
  if (setrlimit(RLIMIT_AS, &taken) != 0) _exit(2);
}

bool VisitsAll(ParallelFor& parallel) {
  std::atomic<size_t> sum{0};
  parallel.For(1000, 10, [&](size_t begin, size_t end) { sum += end - begin; });
  return sum == 1000;
}

int RunWithoutRoomForThreads(ParallelFor& parallel) {
  LimitMemory(4 << 20);
  return VisitsAll(parallel) && VisitsAll(parallel) ? 0 : 1;
}

TEST_P(ParallelForTest, DoesTheWorkAloneWhereNoThreadCanBeStarted) {
  if (!conformance::AddressesCanBeLimited()) GTEST_SKIP() << conformance::kNoAddressLimit;
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // No stack of an earlier thread is left then.
  EXPECT_EXIT(_exit(RunWithoutRoomForThreads(*parallel_)), testing::ExitedWithCode(0), "");
}

// Either all ranges are visited, or the caller learns that there is no memory. Then it may try
// again.
int RunWithin(ParallelFor& parallel, uint64_t bytes) {
  LimitMemory(bytes);
  for (int turn = 0; turn < 3; ++turn) {
    try {
      if (!VisitsAll(parallel)) return 1;
    } catch (const std::bad_alloc&) {
    }
  }
  return 0;
}

// Returns how many limits of memory end a process badly. The limits are so close that each kind of
// allocation is the first to fail at one of them.
int LimitsThatEndBadly(ParallelFor& parallel) {
  constexpr uint64_t kStep = 64 << 10;
  int badly = 0;
  for (uint64_t bytes = 14 << 20; bytes < 24 << 20; bytes += kStep) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);  // Nothing of this takes a second.
      _exit(RunWithin(parallel, bytes));
    }
    int how = 0;
    if (child < 0 || waitpid(child, &how, 0) != child || how != 0) ++badly;
  }
  return badly;
}

TEST_P(ParallelForTest, EndsWhateverMemoryThereIs) {
  if (!conformance::AddressesCanBeLimited()) GTEST_SKIP() << conformance::kNoAddressLimit;
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(_exit(LimitsThatEndBadly(*parallel_)), testing::ExitedWithCode(0), "");
}
#endif

INSTANTIATE_TEST_SUITE_P(
    All, ParallelForTest,
    ::testing::Values(Case{"serial", MakeSerialParallelFor, 1},
                      Case{"threads", [] { return MakeThreadParallelFor(3); }, 3},
                      Case{"tbb", [] { return MakeTbbParallelFor(3); }, 3},
                      Case{"tbb_of_one", [] { return MakeTbbParallelFor(1); }, 1}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace motley
