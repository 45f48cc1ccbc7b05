// SPDX-License-Identifier: Apache-2.0
#include "base/thread_owned.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace motley {
namespace {

std::atomic<int> alive = 0;

struct Counted {
  Counted() { ++alive; }
  ~Counted() { --alive; }
  int value = 0;
};

TEST(ThreadOwned, EachThreadHasOneForItself) {
  ThreadOwned<Counted>().value = 1;
  int seen = -1;
  std::thread([&] { seen = ThreadOwned<Counted>().value++; }).join();
  EXPECT_EQ(seen, 0);
  EXPECT_EQ(ThreadOwned<Counted>().value, 1);
}

TEST(ThreadOwned, IsDeletedWhenItsThreadEnds) {
  ThreadOwned<Counted>();
  const int before = alive;
  std::thread([&] {
    ThreadOwned<Counted>();
    EXPECT_EQ(alive, before + 1);
  }).join();
  EXPECT_EQ(alive, before);
}

struct Throws {
  Throws() { throw std::bad_alloc(); }
};

TEST(ThreadOwned, ThrowsWhatItsConstructorThrows) {
  EXPECT_THROW(ThreadOwned<Throws>(), std::bad_alloc);
  EXPECT_THROW(ThreadOwned<Throws>(), std::bad_alloc);
}

}  // namespace
}  // namespace motley
