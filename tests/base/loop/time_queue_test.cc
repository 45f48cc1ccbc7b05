// SPDX-License-Identifier: Apache-2.0
#include "base/loop/time_queue.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <tuple>

#include "base/random.h"

namespace motley {
namespace {

struct Event {
  double time;
  uint64_t order;
  auto operator<=>(const Event&) const = default;
};

// Delays of events that cause other events, like steps: most are short, some zero, some long, and
// many are equal.
double Delay(Random& random) {
  switch (random.Below(5)) {
    case 0: return 0;
    case 1: return 1e-9 * random.NextDouble();
    case 2: return 1e6 * random.NextDouble();
    case 3: return 0.5;
    default: return random.NextDouble();
  }
}

TEST(TimeQueue, GivesEventsInTheirOrder) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed, Stream::kTest);
    TimeQueue<Event> queue;
    std::set<Event> expected;
    uint64_t order = 0;
    const auto push = [&](double now) {
      const Event event{now + Delay(random), order++};
      queue.Push(event);
      expected.insert(event);
    };
    const uint64_t first = 1 + random.Below(seed % 2 == 0 ? 10 : 1000);
    for (uint64_t i = 0; i < first; ++i) push(0);
    while (!queue.empty()) {
      const Event event = queue.Pop();
      ASSERT_FALSE(expected.empty());
      ASSERT_EQ(event.order, expected.begin()->order) << "seed " << seed;
      expected.erase(expected.begin());
      const uint64_t causes = order < 5 * first ? random.Below(3) : 0;
      for (uint64_t i = 0; i < causes; ++i) push(event.time);
    }
    EXPECT_TRUE(expected.empty());
  }
}

TEST(TimeQueue, EventsAtOneTimeAndOneFarOff) {
  TimeQueue<Event> queue;
  for (uint64_t i = 0; i < 100; ++i) queue.Push({1, i});
  queue.Push({1e300, 100});
  for (uint64_t i = 0; i < 50; ++i) EXPECT_EQ(queue.Pop().order, i);
  queue.Push({1, 101});  // After the earlier ones, before the one far off.
  for (uint64_t i = 50; i < 100; ++i) EXPECT_EQ(queue.Pop().order, i);
  EXPECT_EQ(queue.Pop().order, 101U);
  EXPECT_EQ(queue.Pop().order, 100U);
  EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace motley
