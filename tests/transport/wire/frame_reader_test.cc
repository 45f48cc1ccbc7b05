// SPDX-License-Identifier: Apache-2.0
#include "transport/wire/frame_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.h"

namespace motley {
namespace {

class KeepingSink final : public FrameReader::Sink {
 public:
  std::span<std::byte> OnPayload(const Header& header) override {
    EXPECT_LE(header.length, MaxPayload(header.kind));
    ++payloads;
    if (stop != nullptr) stop->Stop();
    if (discard) return {};
    room.assign(header.length, std::byte{0});
    return room;
  }
  void OnPayloadDone(const Header& header, bool discarded) override {
    headers.push_back(header);
    messages.push_back(discarded || header.length == 0 ? Bytes() : room);
    discarded_count += discarded;
    if (stop != nullptr) stop->Stop();
  }

  bool discard = false;
  FrameReader* stop = nullptr;
  int payloads = 0;
  size_t discarded_count = 0;
  Bytes room;
  std::vector<Header> headers;
  std::vector<Bytes> messages;
};

Bytes Frame(BytesView payload, uint32_t row = 0) {
  Checksum checksum;
  checksum.Add(payload);
  const auto header = EncodeHeader({.kind = FrameKind::kGradient,
                                    .row_id = row,
                                    .length = static_cast<uint32_t>(payload.size())},
                                   checksum.Value());
  Bytes frame(kHeaderSize + payload.size());
  std::copy(header.begin(), header.end(), frame.begin());
  std::copy(payload.begin(), payload.end(), frame.begin() + kHeaderSize);
  return frame;
}

Bytes Noise(Random& random, size_t size) {
  Bytes bytes(size);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random.Next32());
  return bytes;
}

// Feeds `bytes` to the reader in parts of at most `most` bytes.
Status Feed(FrameReader& reader, BytesView bytes, size_t most) {
  while (!bytes.empty()) {
    const std::span<std::byte> room = reader.Room();
    EXPECT_FALSE(room.empty());
    const size_t count = std::min({most, room.size(), bytes.size()});
    std::copy_n(bytes.begin(), count, room.begin());
    bytes = bytes.subspan(count);
    MOTLEY_RETURN_IF_ERROR(reader.Advance(count));
  }
  return Status::Ok();
}

TEST(FrameReader, MessagesAreTheSameHoweverTheirBytesAreCut) {
  Random random(1, Stream::kTest);
  std::vector<Bytes> sent;
  Bytes stream;
  for (size_t size : {0, 1, 5, 0, 200, 70000, 3, 65440, 65536, 150000}) {
    sent.push_back(Noise(random, size));
    const Bytes frame = Frame(sent.back(), static_cast<uint32_t>(sent.size()));
    stream.insert(stream.end(), frame.begin(), frame.end());
  }
  for (size_t most : {1, 7, 103, 104, 105, 1000, 65536, 1 << 20}) {
    KeepingSink sink;
    FrameReader reader(sink);
    ASSERT_TRUE(Feed(reader, stream, most).ok());
    EXPECT_TRUE(reader.AtBoundary());
    ASSERT_EQ(sink.messages.size(), sent.size());
    for (size_t i = 0; i < sent.size(); ++i) {
      EXPECT_TRUE(sink.messages[i] == sent[i]);
      EXPECT_EQ(sink.headers[i].row_id, i + 1);
    }
  }
}

TEST(FrameReader, LargePayloadsAreReadStraightIntoTheSinksMemory) {
  KeepingSink sink;
  FrameReader reader(sink);
  const Bytes frame = Frame(Bytes(1u << 20));
  ASSERT_TRUE(Feed(reader, BytesView(frame).first(kHeaderSize), kHeaderSize).ok());
  EXPECT_EQ(reader.Room().data(), sink.room.data());
  EXPECT_EQ(reader.Room().size(), 1u << 20);
  EXPECT_FALSE(reader.AtBoundary());
}

TEST(FrameReader, DiscardedPayloadsNeedNoMemory) {
  KeepingSink sink;
  sink.discard = true;
  FrameReader reader(sink);
  ASSERT_TRUE(Feed(reader, Frame(Bytes(1u << 20)), 100000).ok());
  ASSERT_TRUE(Feed(reader, Frame({}), 100000).ok());
  EXPECT_EQ(sink.headers.size(), 2u);
  EXPECT_EQ(sink.discarded_count, 1u);
}

TEST(FrameReader, DiscardedPayloadsAreCheckedToo) {
  KeepingSink sink;
  sink.discard = true;
  FrameReader reader(sink);
  Bytes frame = Frame(Bytes(1000));
  frame.back() = std::byte{1};
  EXPECT_EQ(Feed(reader, frame, 1 << 20).code(), StatusCode::kDataError);
}

TEST(FrameReader, AnyFlippedBitOfAPayloadIsNoticed) {
  Random random(2, Stream::kTest);
  const Bytes good = Frame(Noise(random, 40));
  for (size_t bit = kHeaderSize * 8; bit < good.size() * 8; ++bit) {
    KeepingSink sink;
    FrameReader reader(sink);
    Bytes bad = good;
    bad[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_EQ(Feed(reader, bad, 1 << 20).code(), StatusCode::kDataError) << bit;
    EXPECT_TRUE(sink.messages.empty());
  }
}

TEST(FrameReader, OversizeLengthsNeverReachTheSink) {
  KeepingSink sink;
  FrameReader reader(sink);
  const auto header = EncodeHeader({.kind = FrameKind::kPartition, .length = 0xffffffff}, 0);
  EXPECT_EQ(Feed(reader, header, 1 << 20).code(), StatusCode::kDataError);
  EXPECT_EQ(sink.payloads, 0);
}

TEST(FrameReader, StopInsideTheSinkEndsTheCalls) {
  Bytes stream = Frame(Bytes(10));
  const Bytes more = stream;
  stream.insert(stream.end(), more.begin(), more.end());
  KeepingSink in_payload;
  FrameReader first(in_payload);
  in_payload.stop = &first;
  EXPECT_TRUE(first
                  .Advance(std::copy(stream.begin(), stream.end(), first.Room().begin()) -
                           first.Room().begin())
                  .ok());
  EXPECT_EQ(in_payload.payloads, 1);
  EXPECT_TRUE(in_payload.messages.empty());
}

TEST(FrameReader, RandomBytesNeverCrashOrReachTheSink) {
  Random random(3, Stream::kTest);
  for (int round = 0; round < 2000; ++round) {
    KeepingSink sink;
    FrameReader reader(sink);
    const size_t size = random.Below(2000);
    const size_t most = 1 + random.Below(500);
    const Status status = Feed(reader, Noise(random, size), most);
    EXPECT_EQ(status.ok(), size < kHeaderSize);
    EXPECT_EQ(sink.payloads, 0);
  }
}

// Changes, removes or inserts a few bytes in good frames. Every delivered message must have been
// sent.
TEST(FrameReader, DamagedStreamsNeverDeliverDamagedMessages) {
  Random random(4, Stream::kTest);
  size_t delivered = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<Bytes> sent;
    Bytes stream;
    for (uint32_t i = 0; i < 5; ++i) {
      const size_t size = random.Below(300);
      sent.push_back(Noise(random, size));
      const Bytes frame = Frame(sent.back(), i);
      stream.insert(stream.end(), frame.begin(), frame.end());
    }
    const auto at = stream.begin() + static_cast<std::ptrdiff_t>(random.Below(stream.size()));
    const uint64_t how = random.Below(3);
    if (how == 0) *at ^= static_cast<std::byte>(1 + random.Below(255));
    if (how == 1) stream.erase(at);
    if (how == 2) stream.insert(at, std::byte{0x5a});
    KeepingSink sink;
    sink.discard = random.Chance(0.2);
    FrameReader reader(sink);
    const size_t most = 1 + random.Below(500);
    const Status status = Feed(reader, stream, most);
    EXPECT_TRUE(!status.ok() || !reader.AtBoundary());
    for (size_t i = 0; i < sink.messages.size(); ++i) {
      EXPECT_EQ(sink.headers[i].row_id, i);
      if (!sink.discard) {
        EXPECT_TRUE(sink.messages[i] == sent[i]);
      }
      ++delivered;
    }
  }
  EXPECT_GT(delivered, 0u);
}

}  // namespace
}  // namespace motley
