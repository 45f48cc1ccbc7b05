// SPDX-License-Identifier: Apache-2.0
#include "base/loop/virtual_loop.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"

namespace motley {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

TEST(VirtualLoop, TimeJumpsFromTaskToTask) {
  VirtualLoop loop;
  std::vector<double> at;
  loop.After(hours(1), [&] { at.push_back(ToSeconds(loop.Now())); });
  loop.After(milliseconds(5), [&] { at.push_back(ToSeconds(loop.Now())); });
  EXPECT_TRUE(loop.RunOne());
  EXPECT_TRUE(loop.RunOne());
  EXPECT_FALSE(loop.RunOne());
  EXPECT_EQ(at, (std::vector<double>{0.005, 3600}));
  EXPECT_EQ(loop.tasks_run(), 2u);
}

TEST(VirtualLoop, EqualTimesRunInTheOrderSet) {
  VirtualLoop loop;
  std::string order;
  for (const char c : std::string("abcdef")) {
    loop.After(milliseconds(1), [&order, c] { order += c; });
  }
  loop.RunUntilTime(Time(milliseconds(1)));
  EXPECT_EQ(order, "abcdef");
}

TEST(VirtualLoop, CancelledTasksNeverRun) {
  VirtualLoop loop;
  bool ran = false;
  const TimerId id = loop.After(milliseconds(1), [&] { ran = true; });
  EXPECT_EQ(loop.pending(), 1u);
  loop.Cancel(id);
  loop.Cancel(id);
  EXPECT_EQ(loop.pending(), 0u);
  EXPECT_FALSE(loop.RunOne());
  EXPECT_FALSE(ran);
}

TEST(VirtualLoop, AnIdIsNeverThatOfALaterTimer) {
  VirtualLoop loop;
  const TimerId first = loop.After(milliseconds(1), [] {});
  loop.Cancel(first);
  bool ran = false;
  const TimerId second = loop.After(milliseconds(1), [&] { ran = true; });
  EXPECT_LT(first, second);
  loop.Cancel(first);
  loop.Cancel(0);
  EXPECT_TRUE(loop.RunOne());
  EXPECT_TRUE(ran);
  loop.Cancel(second);
  EXPECT_EQ(loop.pending(), 0u);
}

// Timers that are set and cancelled again and again, like deadlines, are compared with a plain
// list.
TEST(VirtualLoop, RunsWhatWasNotCancelledInOrderHoweverMuchIsCancelled) {
  VirtualLoop loop;
  Random random(1, Stream::kTest);
  std::vector<std::pair<int64_t, int>> wanted;  // Time and number.
  std::vector<int> ran;
  std::vector<std::pair<TimerId, int>> waiting;
  for (int i = 0; i < 20000; ++i) {
    const auto delay = static_cast<int64_t>(random.Below(1000));
    waiting.emplace_back(loop.After(milliseconds(delay), [&ran, i] { ran.push_back(i); }), i);
    wanted.emplace_back(delay, i);
    if (i % 5 != 0) {  // Most are cancelled.
      const size_t which = random.Below(waiting.size());
      loop.Cancel(waiting[which].first);
      const int number = waiting[which].second;
      std::erase_if(wanted, [number](const auto& each) { return each.second == number; });
      waiting.erase(waiting.begin() + static_cast<ptrdiff_t>(which));
    }
  }
  EXPECT_EQ(loop.pending(), wanted.size());
  std::sort(wanted.begin(), wanted.end());
  while (loop.RunOne()) continue;
  ASSERT_EQ(ran.size(), wanted.size());
  for (size_t i = 0; i < ran.size(); ++i) EXPECT_EQ(ran[i], wanted[i].second);
}

TEST(VirtualLoop, ATaskThatIsCancelledMayCancelOthersAsItGoes) {
  VirtualLoop loop;
  bool ran = false;
  const TimerId other = loop.After(milliseconds(2), [&] { ran = true; });
  std::shared_ptr<void> last_words(nullptr, [&](void*) { loop.Cancel(other); });
  const TimerId id = loop.After(milliseconds(1), [keep = last_words] {});
  last_words.reset();
  loop.Cancel(id);
  EXPECT_FALSE(loop.RunOne());
  EXPECT_FALSE(ran);
}

TEST(VirtualLoop, ATaskMayCancelItselfAndSetOthers) {
  VirtualLoop loop;
  TimerId id = 0;
  int runs = 0;
  id = loop.After(milliseconds(1), [&] {
    loop.Cancel(id);
    loop.Post([&] { ++runs; });
  });
  EXPECT_TRUE(loop.RunUntil([&] { return runs == 1; }));
  EXPECT_EQ(loop.Now(), Time(milliseconds(1)));
}

TEST(VirtualLoop, PostNeverRunsInsidePost) {
  VirtualLoop loop;
  bool ran = false;
  loop.Post([&] { ran = true; });
  EXPECT_FALSE(ran);
  loop.RunOne();
  EXPECT_TRUE(ran);
}

// The real loop refuses negative delays, so the virtual one must, too.
TEST(VirtualLoop, NegativeDelaysAreABug) {
  VirtualLoop loop;
  EXPECT_DEATH(loop.After(milliseconds(-5), [] {}), "delay");
}

TEST(VirtualLoop, TheLongestDelayDoesNotOverflow) {
  VirtualLoop loop;
  loop.RunUntilTime(Time(hours(1)));
  loop.After(Duration::max(), [] {});
  EXPECT_TRUE(loop.RunOne());
  EXPECT_EQ(loop.Now(), kNever);
}

TEST(VirtualLoop, RunUntilTimeLeavesTheClockThere) {
  VirtualLoop loop;
  int runs = 0;
  loop.After(milliseconds(3), [&] { ++runs; });
  loop.After(milliseconds(8), [&] { ++runs; });
  loop.RunUntilTime(Time(milliseconds(5)));
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(loop.Now(), Time(milliseconds(5)));
  EXPECT_FALSE(loop.RunUntil([] { return false; }));
  EXPECT_EQ(runs, 2);
}

}  // namespace
}  // namespace motley
