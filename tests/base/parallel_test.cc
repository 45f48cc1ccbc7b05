// SPDX-License-Identifier: Apache-2.0
#include "base/parallel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>
#include <vector>

namespace motley {
namespace {

// Each range is recorded at a place of its own, so that threads share nothing.
std::vector<std::pair<size_t, size_t>> Cuts(ParallelFor& parallel, size_t count, size_t grain) {
  std::vector<std::pair<size_t, size_t>> at(count, {0, 0});
  parallel.For(count, grain, [&](size_t begin, size_t end) { at[begin] = {begin, end}; });
  std::erase_if(at, [](const auto& cut) { return cut.second == 0; });
  return at;
}

TEST(ParallelFor, ThreadsCutTheRangeAsTheSerialOneDoes) {
  const auto serial = MakeSerialParallelFor();
  for (const size_t threads : {1, 2, 7}) {
    const auto parallel = MakeThreadParallelFor(threads);
    for (const size_t count : {0, 1, 5, 64, 1000}) {
      for (const size_t grain : {1, 3, 64, 5000}) {
        EXPECT_EQ(Cuts(*parallel, count, grain), Cuts(*serial, count, grain))
            << threads << " threads, " << count << " items, grain " << grain;
      }
    }
  }
}

TEST(ParallelFor, EveryItemIsVisitedOnce) {
  for (const size_t threads : {1, 4}) {
    const auto parallel = MakeThreadParallelFor(threads);
    std::vector<int> visits(1003, 0);
    parallel->For(visits.size(), 10, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) ++visits[i];
    });
    EXPECT_EQ(std::count(visits.begin(), visits.end(), 1), 1003);
  }
}

TEST(ParallelFor, RangesHaveTheGrainSaveTheLast) {
  const auto cuts = Cuts(*MakeSerialParallelFor(), 10, 4);
  const std::vector<std::pair<size_t, size_t>> expected = {{0, 4}, {4, 8}, {8, 10}};
  EXPECT_EQ(cuts, expected);
}

TEST(ParallelFor, ExceptionsOfHelpersReachTheCaller) {
  const auto parallel = MakeThreadParallelFor(4);
  const auto caller = std::this_thread::get_id();
  EXPECT_THROW(parallel->For(1000, 1,
                             [&](size_t begin, size_t) {
                               const bool last = begin == 999;
                               if (last || std::this_thread::get_id() != caller) throw begin;
                             }),
               size_t);
}

TEST(ParallelFor, CallsMayComeFromSeveralThreadsAtOnce) {
  const auto outer = MakeThreadParallelFor(3);
  const auto inner = MakeThreadParallelFor(2);
  std::atomic<size_t> sum{0};
  outer->For(6, 1, [&](size_t, size_t) {
    inner->For(100, 10, [&](size_t begin, size_t end) { sum += end - begin; });
  });
  EXPECT_EQ(sum, 600u);
}

TEST(ParallelFor, TellsItsThreads) {
  EXPECT_EQ(MakeSerialParallelFor()->threads(), 1u);
  EXPECT_EQ(MakeThreadParallelFor(3)->threads(), 3u);
  EXPECT_EQ(MakeThreadParallelFor(0)->threads(), 1u);
}

}  // namespace
}  // namespace motley
