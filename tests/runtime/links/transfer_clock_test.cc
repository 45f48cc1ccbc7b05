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
  TransferClock clock(2);
  clock.Began(0, Slice(3, 1, 0), At(10));
  clock.Began(1, Slice(3, 0, 0), At(11));
  clock.Began(0, Slice(3, 1, 6), At(12));
  EXPECT_EQ(clock.Ended(0, At(13)), std::chrono::seconds(3));
  EXPECT_EQ(clock.Ended(1, At(13)), std::chrono::seconds(2));
  EXPECT_EQ(clock.Ended(1, At(14)), Duration::zero()) << "nothing came";
}

TEST(TransferClock, PausesOfTheWorkerDoNotCount) {
  TransferClock clock(1);
  clock.Began(0, Slice(3, 1, 12), At(10));
  clock.Came(0, At(11));
  Header paused = Slice(3, 1, 6);
  paused.paused = true;
  clock.Began(0, paused, At(15));  // The worker had nothing to send for four seconds.
  clock.Came(0, At(16));
  clock.Began(0, Slice(3, 1, 0), At(18));
  clock.Came(0, At(19));
  EXPECT_EQ(clock.Ended(0, At(19)), std::chrono::seconds(5));
}

// A worker may send any value.
TEST(TransferClock, NoTimeIsNegative) {
  TransferClock clock(1);
  Header paused = Slice(3, 1, 0);
  paused.paused = true;
  for (const double now : {10, 12, 14, 16}) clock.Began(0, paused, At(now));
  EXPECT_GE(clock.Ended(0, At(16)), Duration::zero());
}

// The beginning of a transfer that broke off says nothing about the one that replaces it.
TEST(TransferClock, TheSameRowOfAnotherLifeOrOpeningBeginsAnew) {
  for (const bool lost : {true, false}) {
    TransferClock clock(1);
    clock.Began(0, Slice(3, 1, 0), At(10));
    if (lost) {
      clock.Forget(0);
    } else {
      clock.Opened();
    }
    clock.Began(0, Slice(3, 1, 0), At(50));
    EXPECT_EQ(clock.Ended(0, At(51)), std::chrono::seconds(1));
  }
}

}  // namespace
}  // namespace motley
