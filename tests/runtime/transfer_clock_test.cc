// SPDX-License-Identifier: Apache-2.0
#include "runtime/transfer_clock.h"

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

// The beginning of one that broke off says nothing of the one that is sent in its place.
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
