// SPDX-License-Identifier: Apache-2.0
#include "base/fifo.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>

#include "base/random.h"

namespace motley {
namespace {

TEST(Fifo, IsADequeOfItsItems) {
  Fifo<std::unique_ptr<int>> fifo;
  std::deque<int> want;
  Random random(1, Stream::kSimulation);
  for (int i = 0; i < 5000; ++i) {
    // The queue alternately grows and empties.
    const uint64_t draw = random.Below(i / 1000 % 2 == 0 ? 4 : 7);
    if (draw < 2) {
      fifo.push_back(std::make_unique<int>(i));
      want.push_back(i);
    } else if (draw == 2 && !want.empty()) {
      const size_t index = random.Below(want.size());
      EXPECT_EQ(*fifo.Take(index), want[index]);
      want.erase(want.begin() + static_cast<std::ptrdiff_t>(index));
    } else if (!want.empty()) {
      EXPECT_EQ(*fifo.pop_front(), want.front());
      want.pop_front();
    }
    ASSERT_EQ(fifo.size(), want.size());
    for (size_t at = 0; at < want.size(); ++at) ASSERT_EQ(*fifo[at], want[at]);
  }
  fifo.clear();
  EXPECT_TRUE(fifo.empty());
}

TEST(Fifo, ItemsTakenOutAreNotKept) {
  Fifo<std::shared_ptr<int>> fifo;
  const auto item = std::make_shared<int>(7);
  fifo.push_back(item);
  fifo.push_back(item);
  EXPECT_EQ(item.use_count(), 3);
  fifo.pop_front();
  EXPECT_EQ(item.use_count(), 2);
  fifo.Take(0);
  EXPECT_EQ(item.use_count(), 1);
}

TEST(Fifo, AnEmptyOneUsesTheSameMemoryAgain) {
  Fifo<int> fifo;
  const int* const first = &fifo.push();
  fifo.drop_front();
  EXPECT_EQ(&fifo.push(), first);
  EXPECT_NE(&fifo.push(), first);
  fifo.pop_front();
  fifo.pop_front();
  EXPECT_EQ(&fifo.push(), first);
}

}  // namespace
}  // namespace motley
