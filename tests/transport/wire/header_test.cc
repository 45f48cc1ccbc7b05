// SPDX-License-Identifier: Apache-2.0
#include "transport/wire/header.h"

#include <gtest/gtest.h>

#include <string>

namespace motley {
namespace {

Header FullHeader() {
  return {.kind = FrameKind::kGradient,
          .job = 1,
          .incarnation = 0x1122334455667788,
          .step = 1ull << 40,
          .version = 7,
          .row_id = 9,
          .shard = 3,
          .offset = 1ull << 35,
          .total = 1ull << 36,
          .norm = 0.125,
          .sketch = -0.0625,
          .tally = {.loss = {1e300, -2}, .weight = {4055, 1.0 / 3}},
          .length = kMaxBulkBytes,
          .format = WireFormat::kInt8,
          .paused = true};
}

TEST(Header, EveryFieldSurvivesTheRoundTrip) {
  const Header header = FullHeader();
  const auto bytes = EncodeHeader(header, 0xfeedfacecafebeef);
  const auto decoded = DecodeHeader(bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.status().ToString();
  const Header& got = decoded.value().header;
  EXPECT_EQ(decoded.value().payload_checksum, 0xfeedfacecafebeef);
  EXPECT_EQ(got.kind, header.kind);
  EXPECT_EQ(got.job, header.job);
  EXPECT_EQ(got.incarnation, header.incarnation);
  EXPECT_EQ(got.step, header.step);
  EXPECT_EQ(got.version, header.version);
  EXPECT_EQ(got.row_id, header.row_id);
  EXPECT_EQ(got.shard, header.shard);
  EXPECT_EQ(got.offset, header.offset);
  EXPECT_EQ(got.total, header.total);
  EXPECT_EQ(got.norm, header.norm);
  EXPECT_EQ(got.sketch, header.sketch);
  EXPECT_EQ(got.tally, header.tally);
  EXPECT_EQ(got.length, header.length);
  EXPECT_EQ(got.format, header.format);
  EXPECT_TRUE(got.paused);
  for (const bool checked : {true, false}) {
    for (const bool paused : {true, false}) {
      DecodedHeader frame{header, 1, checked, (1u << 30) - 1};
      frame.header.paused = paused;
      const auto again = DecodeHeader(EncodeHeader(frame));
      ASSERT_TRUE(again.ok());
      EXPECT_EQ(again->checked, checked);
      EXPECT_EQ(again->header.paused, paused);
      EXPECT_EQ(again->shared_page, (1u << 30) - 1);
    }
  }
}

TEST(Header, AnyFlippedBitIsNoticed) {
  const auto good = EncodeHeader(FullHeader(), 42);
  for (size_t bit = 0; bit < kHeaderSize * 8; ++bit) {
    auto bad = good;
    bad[bit / 8] ^= std::byte{1} << (bit % 8);
    const auto decoded = DecodeHeader(bad);
    ASSERT_FALSE(decoded.ok()) << "bit " << bit;
    const bool in_version = bit / 8 >= 4 && bit / 8 < 8;
    EXPECT_EQ(decoded.code(), in_version ? StatusCode::kConflict : StatusCode::kDataError) << bit;
  }
}

TEST(Header, AnotherProtocolVersionIsNamed) {
  auto bytes = EncodeHeader(FullHeader(), 0);
  bytes[4] = std::byte{kProtocolVersion + 8};
  const auto decoded = DecodeHeader(bytes);
  EXPECT_EQ(decoded.code(), StatusCode::kConflict);
  EXPECT_NE(decoded.status().message().find(std::to_string(kProtocolVersion + 8)),
            std::string::npos);
}

TEST(Header, LengthsAboveTheCapOfTheirKindAreRefused) {
  for (FrameKind kind :
       {FrameKind::kControl, FrameKind::kGradient, FrameKind::kParameters, FrameKind::kPartition}) {
    const uint32_t cap = MaxPayload(kind);
    EXPECT_TRUE(DecodeHeader(EncodeHeader({.kind = kind, .length = cap}, 0)).ok());
    EXPECT_EQ(DecodeHeader(EncodeHeader({.kind = kind, .length = cap + 1}, 0)).code(),
              StatusCode::kDataError);
    EXPECT_EQ(DecodeHeader(EncodeHeader({.kind = kind, .length = 0xffffffff}, 0)).code(),
              StatusCode::kDataError);
  }
}

TEST(Header, UnknownKindsAreRefused) {
  for (int kind : {0, 12, 255}) {
    const auto bytes = EncodeHeader({.kind = static_cast<FrameKind>(kind)}, 0);
    EXPECT_EQ(DecodeHeader(bytes).code(), StatusCode::kDataError) << kind;
  }
}

TEST(Header, UnknownFormatsAreRefused) {
  for (const WireFormat format : kWireFormats) {
    EXPECT_TRUE(DecodeHeader(EncodeHeader({.format = format}, 0)).ok());
  }
  for (int format : {3, 255}) {
    const auto bytes = EncodeHeader({.format = static_cast<WireFormat>(format)}, 0);
    EXPECT_EQ(DecodeHeader(bytes).code(), StatusCode::kDataError) << format;
  }
}

}  // namespace
}  // namespace motley
