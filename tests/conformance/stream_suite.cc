// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/stream_suite.h"

#include <numeric>

#include "base/random.h"
#include "tests/conformance/transport_suite.h"

namespace motley {
namespace {

TEST_P(StreamSuite, BytesArriveInOrderHoweverTheyAreCut) {
  Random random(7, Stream::kTest);
  const Bytes all = Pattern(200'000, 1);
  b_->ReadAll([&] { return size_t{1} + random.Below(5000); });
  size_t at = 0;
  size_t writes = 0;
  while (at < all.size()) {
    const size_t count = std::min<size_t>(all.size() - at, 1 + random.Below(9000));
    const auto begin = all.begin() + static_cast<ptrdiff_t>(at);
    a_->Write({Bytes(begin, begin + static_cast<ptrdiff_t>(count))});
    at += count;
    ++writes;
  }
  Run([&] { return b_->came.size() >= all.size() && a_->written == writes; });
  EXPECT_TRUE(b_->came == all);
  EXPECT_EQ(a_->stream().Unsent(), 0u);
}

TEST_P(StreamSuite, RoomMayBeOneByte) {
  b_->ReadAll([] { return size_t{1}; });
  a_->Write({Pattern(1000, 2)});
  Run([&] { return b_->came.size() >= 1000; });
  EXPECT_TRUE(b_->came == Pattern(1000, 2));
  EXPECT_EQ(b_->reads, 1000u);
}

TEST_P(StreamSuite, BothEndsTalkAtOnce) {
  for (StreamEnd* end : {&*a_, &*b_}) end->ReadAll();
  for (uint32_t i = 0; i < 50; ++i) {
    a_->Write({Pattern(500, i)});
    b_->Write({Pattern(500, 100 + i)});
  }
  Run([&] { return a_->came.size() == 25'000 && b_->came.size() == 25'000; });
  Run([&] { return a_->written == 50 && b_->written == 50; });
  for (uint32_t i = 0; i < 50; ++i) {
    EXPECT_TRUE(std::ranges::equal(BytesView(b_->came).subspan(500 * i, 500), Pattern(500, i)));
    EXPECT_TRUE(
        std::ranges::equal(BytesView(a_->came).subspan(500 * i, 500), Pattern(500, 100 + i)));
  }
}

TEST_P(StreamSuite, PiecesFollowTheHead) {
  b_->ReadAll();
  std::vector<Bytes> pieces;
  Bytes all;
  for (uint32_t i = 0; i < 40; ++i) {
    pieces.push_back(Pattern(i % 3 == 2 ? 0 : 10 + i, i));  // Some are empty.
    all.insert(all.end(), pieces.back().begin(), pieces.back().end());
  }
  a_->Write(std::move(pieces));
  Run([&] { return b_->came.size() >= all.size() && a_->written == 1; });
  EXPECT_TRUE(b_->came == all);
}

TEST_P(StreamSuite, NothingIsReadWithoutRoom) {
  a_->Write({Pattern(10, 1)});
  Settle();
  EXPECT_EQ(b_->reads, 0u);
  b_->Read(4);
  Run([&] { return b_->reads == 1; });
  Settle();
  EXPECT_EQ(b_->reads, 1u);
  while (b_->came.size() < 10) {
    const size_t before = b_->reads;
    b_->Read(4);
    Run([&] { return b_->reads > before; });
  }
  EXPECT_TRUE(b_->came == Pattern(10, 1));
}

TEST_P(StreamSuite, AReaderThatStopsHoldsTheWriter) {
  constexpr size_t kWrites = 8;
  const size_t each = world_->MoreThanFits() / kWrites;
  for (uint32_t i = 0; i < kWrites; ++i) a_->Write({Pattern(each, i)});
  Settle();
  EXPECT_LT(a_->written, kWrites);
  EXPECT_GT(a_->stream().Unsent(), 0u);
  b_->ReadAll();
  Run([&] { return b_->came.size() == kWrites * each && a_->written == kWrites; });
  EXPECT_EQ(a_->stream().Unsent(), 0u);
  for (uint32_t i = 0; i < kWrites; ++i) {
    EXPECT_TRUE(std::ranges::equal(BytesView(b_->came).subspan(i * each, each), Pattern(each, i)));
  }
}

TEST_P(StreamSuite, WhatWasWrittenArrivesBeforeTheEnd) {
  a_->Write({Pattern(100, 1)});
  Run([&] { return a_->written == 1; });
  a_->Destroy();
  b_->ReadAll();
  Run([&] { return b_->ended.has_value(); });
  EXPECT_TRUE(b_->ended->ok()) << b_->ended->ToString();
  EXPECT_TRUE(b_->came == Pattern(100, 1));
}

TEST_P(StreamSuite, AnEndInsideAWriteLeavesItsBeginning) {
  const size_t size = world_->MoreThanFits();
  a_->Write({Pattern(size, 1)});
  Settle();
  a_->Destroy();
  b_->ReadAll();
  Run([&] { return b_->ended.has_value(); });
  EXPECT_LT(b_->came.size(), size);
  const Bytes all = Pattern(size, 1);
  EXPECT_TRUE(std::equal(b_->came.begin(), b_->came.end(), all.begin()));
}

TEST_P(StreamSuite, LastBytesOfAPeerThatIsGoneAreReadBeforeTheEnd) {
  b_->Write({Pattern(100, 1)});
  Run([&] { return b_->written == 1; });
  a_->Write({Pattern(world_->MoreThanFits(), 2)});  // Some of it will never be read.
  b_->Destroy();
  Settle();
  a_->Write({Pattern(10, 3)});
  a_->ReadAll();
  Run([&] { return a_->ended.has_value(); });
  EXPECT_EQ(a_->written, 0u);
  // A reset may overtake the bytes, where the system has resets.
  EXPECT_TRUE(a_->came == Pattern(100, 1) || a_->came.empty());
}

TEST_P(StreamSuite, HandlersMayDestroyTheStream) {
  a_->on_written = [&] { a_->Destroy(); };
  b_->on_read = [&] { b_->Destroy(); };
  b_->ReadAll();
  a_->ReadAll();
  a_->Write({Pattern(100, 1)});
  a_->Write({Pattern(100, 2)});
  Settle();
  EXPECT_LE(a_->written, 1u);
  EXPECT_LE(b_->reads, 1u);
}

TEST_P(StreamSuite, TheHandlerOfTheEndMayDestroyTheStream) {
  bool over = false;
  b_->on_end = [&] {
    b_->Destroy();
    over = true;
  };
  b_->ReadAll();
  a_->Destroy();
  Run([&] { return over; });
  Settle();
}

TEST_P(StreamSuite, ThePeerIsKnownBeforeAnyByte) {
  for (StreamEnd* end : {&*a_, &*b_}) {
    EXPECT_NE(end->stream().peer().address, "");
    EXPECT_NE(end->stream().peer().host, "");
  }
}

TEST_P(StreamSuite, NoFilesComeUnlessTheyWereSent) {
  b_->ReadAll();
  a_->Write({Pattern(100, 1)});
  Run([&] { return b_->came.size() == 100; });
  EXPECT_EQ(b_->stream().PendingFiles(), 0u);
  EXPECT_EQ(b_->stream().TakeFile(), -1);
}

}  // namespace
}  // namespace motley
