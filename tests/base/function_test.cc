// SPDX-License-Identifier: Apache-2.0
#include "base/function.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace motley {
namespace {

// Counts living instances, and knows if it was moved since its construction.
class Counted {
 public:
  explicit Counted(int& living) : living_(&living), place_(this) { ++living; }
  Counted(Counted&& other) noexcept : living_(other.living_), place_(other.place_) { ++*living_; }
  Counted(const Counted&) = delete;
  ~Counted() { --*living_; }
  bool moved() const { return place_ != this; }

 private:
  int* living_;
  const Counted* place_;
};

TEST(Function, CallsWithArgumentsAndResult) {
  const Function<int(int, const std::string&)> add = [](int a, const std::string& b) {
    return a + static_cast<int>(b.size());
  };
  EXPECT_EQ(add(3, "four"), 7);
  int sum = 0;
  // The result is ignored.
  const Function<void(int)> count = [&sum](int more) { return sum += more; };
  count(2);
  count(3);
  EXPECT_EQ(sum, 5);
  const Function<std::unique_ptr<int>(std::unique_ptr<int>)> pass = [](std::unique_ptr<int> held) {
    return held;
  };
  EXPECT_EQ(*pass(std::make_unique<int>(4)), 4);
}

TEST(Function, IsEmptyAtFirstAndAfterItWasMovedFrom) {
  Function<void()> empty;
  EXPECT_FALSE(empty);
  EXPECT_TRUE(Function<void()>(nullptr) == nullptr);
  int calls = 0;
  Function<void()> first = [&calls] { ++calls; };
  Function<void()> second = std::move(first);
  EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): tests the moved-from state.
  ASSERT_TRUE(second);
  second();
  first = std::move(second);
  EXPECT_FALSE(second);  // NOLINT(bugprone-use-after-move)
  first();
  EXPECT_EQ(calls, 2);
  first = nullptr;
  EXPECT_FALSE(first);
}

TEST(Function, MadeOfWhatIsEmptyIsEmpty) {
  EXPECT_FALSE(Function<void()>(std::function<void()>()));
  EXPECT_FALSE(Function<void()>(Function<void(), 8>()));
  EXPECT_FALSE(Function<void()>(static_cast<void (*)()>(nullptr)));
  EXPECT_TRUE(Function<void()>([] {}));
}

TEST(Function, KeepsStateBetweenCalls) {
  const Function<int()> next = [n = 0]() mutable { return ++n; };
  EXPECT_EQ(next(), 1);
  EXPECT_EQ(next(), 2);
}

TEST(Function, HoldsSmallThingsInsideAndLargeOnesOnTheHeap) {
  int living = 0;
  bool moved = false;
  {
    Function<void(), 48> small = [&moved, held = Counted(living)] { moved = held.moved(); };
    Function<void(), 48> to = std::move(small);
    EXPECT_EQ(living, 1);
    to();
    EXPECT_TRUE(moved);  // Destroyed with its owner.
  }
  EXPECT_EQ(living, 0);
  {
    const void* before = nullptr;
    const void* after = nullptr;
    const void** seen = &before;
    Function<void(), 48> large = [&seen, held = Counted(living), room = std::array<char, 64>()] {
      *seen = &held;
      EXPECT_EQ(room[0], '\0');
    };
    large();
    seen = &after;
    Function<void(), 48> to = std::move(large);
    to();
    EXPECT_EQ(living, 1);
    EXPECT_EQ(before, after);  // The object did not move.
  }
  EXPECT_EQ(living, 0);
}

TEST(Function, FreesWhatItHeldWhenItGetsAnother) {
  int living = 0;
  Function<void()> function = [held = Counted(living)] {};
  function = [held = Counted(living)] {};
  EXPECT_EQ(living, 1);
  function = nullptr;
  EXPECT_EQ(living, 0);
}

TEST(Function, StaysWhatItIsWhenItIsMovedOntoItself) {
  int living = 0;
  Function<int()> function = [held = Counted(living)] { return 5; };
  Function<int()>& same = function;
  function = std::move(same);
  ASSERT_TRUE(function);
  EXPECT_EQ(function(), 5);
  EXPECT_EQ(living, 1);
}

TEST(Function, MayBeSetAgainByWhatGoes) {
  // The function is replaced first and the old callable destroyed afterwards, so its destructor may
  // already use the new one.
  int seen = 0;
  Function<int()> function;
  struct Again {
    Function<int()>& function;
    int& seen;
    void operator()(const char*) const {
      seen = function();
      function = [] { return 3; };
    }
  };
  function = [last = std::unique_ptr<const char, Again>("", {function, seen})] { return 1; };
  function = [] { return 2; };
  EXPECT_EQ(seen, 2);
  EXPECT_EQ(function(), 3);
}

TEST(Function, MayBeReplacedByWhatItHolds) {
  struct Node {
    Function<int()> next;
  };
  auto node = std::make_unique<Node>();
  node->next = [] { return 7; };
  Node* raw = node.get();
  Function<int()> function = [held = std::move(node)] { return 1; };
  function = std::move(raw->next);  // The overwritten callable owns the new one.
  EXPECT_EQ(function(), 7);
}

TEST(Function, FitsInEachOther) {
  const Function<int(), 64> outer = [inner = Function<int()>([] { return 3; })] {
    return inner() + 1;
  };
  EXPECT_EQ(outer(), 4);
  int living = 0;
  Function<void(), 16> narrow = [held = std::make_unique<Counted>(living)] {};
  Function<void(), 48> wide = std::move(narrow);
  wide();
  wide = nullptr;
  EXPECT_EQ(living, 0);
}

}  // namespace
}  // namespace motley
