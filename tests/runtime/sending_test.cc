// SPDX-License-Identifier: Apache-2.0
// What the server sends, and how much of it at a time, over a transport that does nothing by
// itself.
#include <gtest/gtest.h>

#include <vector>

#include "runtime/partition_feed.h"
#include "runtime/publisher.h"
#include "tests/runtime/held_transport.h"
#include "tests/training/test_data.h"
#include "transport/control.h"

namespace motley {
namespace {

ParameterCopy Values(float value, size_t count = 10) {
  return std::make_shared<const std::vector<float>>(count, value);
}

TEST(Publisher, SendsAVersionOncePerWorkerInSlices) {
  HeldTransport transport;
  Publisher publisher(transport, 2, 4);
  publisher.Publish(0, 1, Header(), 3, Values(1));
  publisher.Publish(0, 1, Header(), 3, Values(1));
  ASSERT_EQ(transport.sent.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(transport.sent[i].kind, FrameKind::kParameters);
    EXPECT_EQ(transport.sent[i].version, 3u);
    EXPECT_EQ(transport.sent[i].offset, 4 * i);
    EXPECT_EQ(transport.sent[i].total, 10u);
  }
  publisher.Publish(1, 2, Header(), 3, Values(1));
  EXPECT_EQ(transport.sent.size(), 6u);
}

TEST(Publisher, ANewerVersionTakesBackWhatHasNotLeft) {
  HeldTransport transport;
  Publisher publisher(transport, 1, 4);
  const ParameterCopy old = Values(1);
  publisher.Publish(0, 1, Header(), 3, old);
  transport.LetGo();
  EXPECT_EQ(old.use_count(), 3);  // Ours and two slices'.
  publisher.Publish(0, 1, Header(), 4, Values(2));
  EXPECT_EQ(old.use_count(), 1);
  EXPECT_EQ(transport.held.size(), 3u);
  for (const auto& [id, message] : transport.held) EXPECT_EQ(message.header.version, 4u);
}

TEST(Publisher, TakesBackOnlyWhatHasNotLeft) {
  HeldTransport transport;
  Publisher publisher(transport, 1, 4);
  publisher.Publish(0, 1, Header(), 3, Values(1));
  const size_t slices = transport.held.size();
  ASSERT_GT(slices, 1u);
  transport.LetGo();
  publisher.Publish(0, 1, Header(), 4, Values(2));
  EXPECT_EQ(transport.cancelled.size(), slices - 1);
  while (!transport.held.empty()) transport.LetGo();
  publisher.Publish(0, 1, Header(), 5, Values(3));
  EXPECT_EQ(transport.cancelled.size(), slices - 1);
}

TEST(Publisher, AnotherLifeOfAWorkerGetsTheVersionAgain) {
  HeldTransport transport;
  Publisher publisher(transport, 1, 16);
  publisher.Publish(0, 1, Header(), 3, Values(1));
  publisher.Forget(0);
  publisher.Publish(0, 2, Header(), 3, Values(1));
  EXPECT_EQ(transport.sent.size(), 2u);
}

void NeverFails(const Status& why) { ADD_FAILURE() << why.ToString(); }

// Has all samples but those of one partition.
class TornSource final : public DataSource {
 public:
  explicit TornSource(const Dataset& data) : inner_(data) {}
  DataShape shape() const override { return inner_.shape(); }
  Result<Dataset> Range(size_t begin, size_t end) const override {
    if (begin == 2) return Status::Resource("the disk is gone");
    return inner_.Range(begin, end);
  }
  Result<Dataset> Gather(std::span<const uint32_t> rows) const override {
    return inner_.Gather(rows);
  }

 private:
  MemorySource inner_;
};

class Feed : public testing::Test {
 protected:
  // Two partitions of 10 samples, or several that fill the window.
  static Dataset Samples(size_t rows, uint32_t features) {
    Dataset data;
    data.features = features;
    data.dense.resize(rows * features, 0.5f);
    data.label.resize(rows, 1);
    return data;
  }
  HeldTransport transport;
};

TEST_F(Feed, SendsBlocksInPiecesThatPutTogetherAreThePartition) {
  const Dataset data = Samples(300, 2000);
  const MemorySource source(data);
  PartitionFeed feed(transport, source, {100, 200}, 1, NeverFails);
  Header header;
  header.job = 9;
  feed.Place(0, 1, header, {1});
  const auto announced = transport.LetGo();
  const auto control = DecodeControl(announced.bytes).value();
  ASSERT_NE(control.body.AsPlace(), nullptr);
  EXPECT_EQ(control.body.AsPlace()->partitions, std::vector<uint32_t>{1});
  Bytes block;
  while (!transport.held.empty()) {
    const auto piece = transport.LetGo();
    EXPECT_EQ(piece.header.kind, FrameKind::kPartition);
    EXPECT_EQ(piece.header.job, 9u);
    EXPECT_EQ(piece.header.row_id, 1u);
    EXPECT_EQ(piece.header.offset, block.size());
    EXPECT_LE(piece.bytes.size(), kBlockPieceBytes);
    block.insert(block.end(), piece.bytes.begin(), piece.bytes.end());
    EXPECT_GE(piece.header.total, block.size());
  }
  EXPECT_EQ(block, EncodeBlock(data, 100, 300));
}

TEST_F(Feed, HoldsBackWhatIsBeyondTheWindow) {
  const size_t features = 4u << 18;  // 4 MiB per sample.
  const Dataset data = Samples(12, features);
  const MemorySource source(data);
  PartitionFeed feed(transport, source, std::vector<uint32_t>(12, 1), 1, NeverFails);
  feed.Place(0, 1, Header(), {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  const auto queued = [&] {
    size_t bytes = 0;
    for (const auto& [id, message] : transport.held) bytes += message.bytes.size();
    return bytes;
  };
  size_t most = queued();
  EXPECT_GE(most, kFeedWindow);
  while (!transport.held.empty()) {
    transport.LetGo();
    most = std::max(most, queued());
  }
  EXPECT_LE(most, kFeedWindow + (5u << 20));
  EXPECT_EQ(transport.sent.back().row_id, 11u);
}

TEST_F(Feed, StopsWithItsWorkerAndStartsAfreshWithTheNext) {
  const Dataset data = Samples(12, 4u << 18);
  const MemorySource source(data);
  PartitionFeed feed(transport, source, std::vector<uint32_t>(12, 1), 1, NeverFails);
  feed.Place(0, 1, Header(), {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  feed.Forget(0);
  const size_t before = transport.sent.size();
  transport.Disconnect(1);
  EXPECT_EQ(transport.sent.size(), before);
  feed.Place(0, 2, Header(), {11});
  EXPECT_GT(transport.sent.size(), before + 1);
  EXPECT_EQ(transport.held.rbegin()->second.peer, 2u);
}

TEST_F(Feed, SaysOnceWhichSamplesCannotBeHad) {
  const Dataset data = Samples(6, 3);
  const TornSource source(data);
  std::vector<Status> failures;
  PartitionFeed feed(transport, source, {2, 2, 2}, 1,
                     [&](const Status& why) { failures.push_back(why); });
  feed.Place(0, 1, Header(), {0, 1, 2});
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures[0].code(), StatusCode::kResource);
  EXPECT_EQ(failures[0].ToString(), "partition 1: the disk is gone");
  EXPECT_EQ(transport.sent.size(), 2u);  // The announcement and the partition before it.
}

}  // namespace
}  // namespace motley
