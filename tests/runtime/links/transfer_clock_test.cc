// SPDX-License-Identifier: Apache-2.0
#include "runtime/links/transfer_clock.h"

#include <gtest/gtest.h>

namespace motley {
namespace {

Header Slice(StepId step, uint32_t row, uint64_t offset) {
  Header header;
  header.step = step;
  header.row_id = row;
  header.offset = offset;
  return header;
}

Time At(double seconds) { return Time(FromSeconds(seconds)); }

TEST(TransferClock, AVectorTakesFromTheBeginningOfItsFirstSlice) {
  TransferClock clock;
  clock.Began(Slice(3, 1, 0), At(10));
  clock.Began(Slice(3, 1, 6), At(12));
  EXPECT_EQ(clock.Ended(At(13)), std::chrono::seconds(3));
  EXPECT_EQ(clock.Ended(At(14)), Duration::zero()) << "nothing came";
}

TEST(TransferClock, PausesOfTheWorkerDoNotCount) {
  TransferClock clock;
  clock.Began(Slice(3, 1, 12), At(10));
  clock.Came(Slice(3, 1, 0), At(11));
  Header paused = Slice(3, 1, 6);
  paused.paused = true;
  clock.Began(paused, At(15));  // The worker had nothing to send for four seconds.
  clock.Came(Slice(3, 1, 0), At(16));
  clock.Began(Slice(3, 1, 0), At(18));
  clock.Came(Slice(3, 1, 0), At(19));
  EXPECT_EQ(clock.Ended(At(19)), std::chrono::seconds(5));
}

// A worker may send any value.
TEST(TransferClock, NoTimeIsNegative) {
  TransferClock clock;
  Header paused = Slice(3, 1, 0);
  paused.paused = true;
  for (const double now : {10, 12, 14, 16}) clock.Began(paused, At(now));
  EXPECT_GE(clock.Ended(At(16)), Duration::zero());
}

// The beginning of a transfer that broke off says nothing about the one that replaces it.
TEST(TransferClock, TheSameRowAfterAnotherOpeningBeginsAnew) {
  TransferClock clock;
  clock.Began(Slice(3, 1, 0), At(10));
  clock.Opened();
  clock.Began(Slice(3, 1, 0), At(50));
  EXPECT_EQ(clock.Ended(At(51)), std::chrono::seconds(1));
}

// When the first slice was sent is not known, so only what follows it shows the link's speed.
TEST(TransferClock, TheRestOfAVectorCountsBehindItsFirstSlice) {
  TransferClock clock;
  const auto slice = [&](uint64_t offset, double begun, double whole, bool paused = false) {
    Header header = Slice(3, 1, offset);
    header.total = 12;
    header.length = 4 * sizeof(float);
    header.paused = paused;
    clock.Began(header, At(begun));
    return clock.Came(header, At(whole));
  };
  EXPECT_FALSE(slice(0, 1, 2));
  EXPECT_FALSE(slice(4, 2, 4));
  const auto rest = slice(8, 4, 7);
  ASSERT_TRUE(rest);
  EXPECT_EQ(rest->time, std::chrono::seconds(5));
  EXPECT_EQ(rest->bytes, 2 * (kHeaderSize + 16));
  // The next vector of the same list. One of its slices came later than it could have.
  EXPECT_FALSE(slice(0, 10, 11));
  EXPECT_FALSE(slice(4, 20, 21, /*paused=*/true));
  const auto next = slice(8, 21, 22);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->time, std::chrono::seconds(1));
  EXPECT_EQ(next->bytes, kHeaderSize + 16);
}

}  // namespace
}  // namespace motley
