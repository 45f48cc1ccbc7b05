// SPDX-License-Identifier: Apache-2.0
#include "base/bytes.h"

#include <gtest/gtest.h>

#include <limits>

namespace motley {
namespace {

TEST(Bytes, ReaderGivesBackWhatWasWritten) {
  ByteWriter writer;
  writer.Put<uint8_t>(7);
  writer.Put<uint64_t>(0x0102030405060708ull);
  writer.Put<double>(-0.5);
  const std::string text = "abc";
  writer.Append(AsBytes(text));
  const Bytes bytes = writer.Take();
  ByteReader reader(bytes);
  EXPECT_EQ(reader.Get<uint8_t>(), 7);
  EXPECT_EQ(reader.Get<uint64_t>(), 0x0102030405060708ull);
  EXPECT_EQ(reader.Get<double>(), -0.5);
  EXPECT_EQ(reader.remaining(), 3u);
  EXPECT_EQ(reader.View(3)[1], std::byte{'b'});
  EXPECT_TRUE(reader.ok());
}

TEST(Bytes, ValuesAreLittleEndian) {
  ByteWriter writer;
  writer.Put<uint32_t>(0x01020304);
  const Bytes bytes = writer.Take();
  ASSERT_EQ(bytes.size(), 4u);
  EXPECT_EQ(bytes[0], std::byte{4});
  EXPECT_EQ(bytes[3], std::byte{1});
}

TEST(Bytes, ReadingPastTheEndFailsForGood) {
  const Bytes bytes(4);
  ByteReader reader(bytes);
  EXPECT_EQ(reader.Get<uint64_t>(), 0u);
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(reader.Get<uint8_t>(), 0u) << "after a failure, reads that would fit fail as well";
  EXPECT_TRUE(reader.View(0).empty());
  EXPECT_FALSE(reader.ok());
}

TEST(Bytes, SizesNearTheLimitDoNotWrapRound) {
  const Bytes bytes(4);
  ByteReader reader(bytes);
  EXPECT_TRUE(reader.View(std::numeric_limits<size_t>::max()).empty());
  EXPECT_FALSE(reader.ok());
}

TEST(Bytes, ViewsOfTypedValuesSpanTheirStorage) {
  const std::vector<float> values = {1, 2, 3};
  const BytesView view = AsBytes(std::span<const float>(values));
  EXPECT_EQ(view.size(), 12u);
  EXPECT_EQ(static_cast<const void*>(view.data()), values.data());
}

}  // namespace
}  // namespace motley
