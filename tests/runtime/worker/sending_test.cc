// SPDX-License-Identifier: Apache-2.0
// Tests the server's messages, and how much it sends at a time, over a transport that does nothing
// by itself.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/job.h"
#include "runtime/links/partition_feed.h"
#include "runtime/shard/publisher.h"
#include "scheduler/scheduler.h"
#include "tests/runtime/held_transport.h"
#include "tests/training/test_data.h"
#include "transport/wire/control.h"

namespace motley {
namespace {

const Slicing kCut(10, 4);

ParameterCopy Values(float value, size_t count = 10) {
  return std::make_shared<const std::vector<float>>(count, value);
}

ParameterCopy NoneWaits(uint64_t version) {
  ADD_FAILURE() << "version " << version << " was held back";
  return nullptr;
}

// A message that is too long is dropped without notice, and its worker would wait in vain.
TEST(Messages, ListsOfAllPartitionsCanBeSent) {
  const std::vector<uint32_t> all(kMaxPartitions, 1);
  const auto fits = [](const Bytes& message) {
    return CheckSendable(FrameKind::kControl, message.size()).ok();
  };
  wire::AcceptT accept;
  accept.partition_sizes = all;
  accept.model = std::string(4096, 'm');
  EXPECT_TRUE(fits(EncodeControl(accept)));
  wire::PlaceT place;
  place.partitions = all;
  EXPECT_TRUE(fits(EncodeControl(place)));
  wire::OrderT order;
  order.partitions = all;
  EXPECT_TRUE(fits(EncodeControl(order)));
  wire::ReleasedT released;
  released.partitions = all;
  EXPECT_TRUE(fits(EncodeControl(released)));
  wire::DataCameT came;
  came.partitions = all;
  EXPECT_TRUE(fits(EncodeControl(came)));
}

TEST(Messages, NoJobHasMorePartitionsThanCanBeSent) {
  DataShape data;
  data.rows = uint64_t{1} << 40;
  data.features = 1000;
  EXPECT_EQ(PartitionCount(data, 4).value(), kMaxPartitions);
}

TEST(Publisher, SendsAVersionOncePerWorkerInSlices) {
  HeldTransport transport;
  Publisher publisher(transport, kCut, 0, NoneWaits);
  Publisher::Reader reader(publisher, 1, Header());
  Publisher::Reader other(publisher, 2, Header());
  reader.Publish(3, Values(1));
  reader.Publish(3, Values(1));
  ASSERT_EQ(transport.sent.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(transport.sent[i].kind, FrameKind::kParameters);
    EXPECT_EQ(transport.sent[i].version, 3u);
    EXPECT_EQ(transport.sent[i].offset, 4 * i);
    EXPECT_EQ(transport.sent[i].total, 10u);
  }
  other.Publish(3, Values(1));
  EXPECT_EQ(transport.sent.size(), 6u);
}

TEST(Publisher, ANewerVersionTakesBackWhatHasNotLeft) {
  HeldTransport transport;
  Publisher publisher(transport, kCut, 0, NoneWaits);
  Publisher::Reader reader(publisher, 1, Header());
  const ParameterCopy old = Values(1);
  reader.Publish(3, old);
  transport.LetGo();
  EXPECT_EQ(old.use_count(), 2) << "ours, and one for all slices that have not left";
  reader.Publish(4, Values(2));
  EXPECT_EQ(old.use_count(), 1);
  EXPECT_EQ(transport.held.size(), 3u);
  for (const auto& [id, message] : transport.held) EXPECT_EQ(message.header.version, 4u);
}

TEST(Publisher, KeepsWhatItSentIfItIsToBeLookedAtAgain) {
  HeldTransport transport;
  Publisher publisher(transport, kCut, 0, NoneWaits);
  Publisher::Reader reader(publisher, 1, Header());
  Publisher::Reader other(publisher, 2, Header());
  reader.KeepSent();
  const ParameterCopy three = Values(1), four = Values(2);
  for (const auto& [version, values] : {std::pair(3, three), std::pair(4, four)}) {
    reader.Publish(version, values);
    other.Publish(version, values);
    while (!transport.held.empty()) transport.LetGo();
  }
  EXPECT_EQ(reader.Sent(3), three);
  EXPECT_EQ(reader.Sent(4), four);
  EXPECT_EQ(reader.Sent(5), nullptr);
  EXPECT_EQ(other.Sent(4), nullptr);
  reader.Forget(4);
  EXPECT_EQ(reader.Sent(3), nullptr);
  EXPECT_EQ(three.use_count(), 1);
  EXPECT_EQ(reader.Sent(4), four);
}

TEST(Publisher, TakesBackOnlyWhatHasNotLeft) {
  HeldTransport transport;
  Publisher publisher(transport, kCut, 0, NoneWaits);
  Publisher::Reader reader(publisher, 1, Header());
  reader.Publish(3, Values(1));
  const size_t slices = transport.held.size();
  ASSERT_GT(slices, 1u);
  transport.LetGo();
  reader.Publish(4, Values(2));
  EXPECT_EQ(transport.cancelled.size(), slices - 1);
  while (!transport.held.empty()) transport.LetGo();
  reader.Publish(5, Values(3));
  EXPECT_EQ(transport.cancelled.size(), slices - 1);
}

// A worker that is stopped in the middle of a slice never lets it go.
class SlowReader : public testing::Test {
 protected:
  // Version 1 is on its way to a worker. Its first slice cannot be taken back any more.
  SlowReader() {
    reader->Publish(1, versions[1]);
    transport.under_way.insert(1);
  }
  void PublishNext() {
    const uint64_t version = ++newest;
    reader->Publish(version, versions[version]);
  }

  HeldTransport transport;
  uint64_t newest = 1;
  const std::vector<ParameterCopy> versions = {Values(0), Values(1), Values(2), Values(3),
                                               Values(4)};
  Publisher publisher{transport, kCut, 0, [this](uint64_t version) {
                        return version == newest ? versions[version] : nullptr;
                      }};
  std::unique_ptr<Publisher::Reader> reader =
      std::make_unique<Publisher::Reader>(publisher, 7, Header());
};

TEST_F(SlowReader, PinsOneVersionHoweverManyFollow) {
  while (newest < 4) PublishNext();
  EXPECT_EQ(versions[1].use_count(), 2);
  for (uint64_t version : {2, 3, 4}) EXPECT_EQ(versions[version].use_count(), 1) << version;
  EXPECT_EQ(transport.held.size(), 1u);
}

TEST_F(SlowReader, GetsTheNewestVersionAsSoonAsTheOldOneHasLeft) {
  while (newest < 4) PublishNext();
  transport.LetGo();
  ASSERT_EQ(transport.held.size(), 3u);
  for (const auto& [id, message] : transport.held) {
    EXPECT_EQ(message.header.version, 4u);
    EXPECT_EQ(message.peer, 7u);
  }
  reader->Publish(4, versions[4]);
  EXPECT_EQ(transport.held.size(), 3u) << "once is enough";
  EXPECT_EQ(versions[1].use_count(), 1);
}

TEST_F(SlowReader, IsNotSentAVersionThatIsOldByThen) {
  PublishNext();
  ++newest;  // The worker does not receive this version.
  transport.LetGo();
  EXPECT_TRUE(transport.held.empty());
  EXPECT_TRUE(reader->Publish(3, versions[3]));
}

TEST_F(SlowReader, IsNamedWhenItsVersionIsOld) {
  EXPECT_FALSE(publisher.OldestReader(1)) << "nothing is older";
  EXPECT_EQ(publisher.OldestReader(2)->peer, 7u);
  EXPECT_EQ(publisher.OldestReader(2)->version, 1u);
  PublishNext();
  reader = nullptr;
  EXPECT_EQ(publisher.OldestReader(2)->peer, 7u) << "its connection is still there";
  EXPECT_EQ(versions[1].use_count(), 2);
  transport.Disconnect(7);
  EXPECT_FALSE(publisher.OldestReader(2));
  EXPECT_EQ(versions[1].use_count(), 1);
}

TEST_F(SlowReader, ThatIsLostWhileAVersionWaitsLeavesNothingBehind) {
  PublishNext();
  transport.Disconnect(7);
  reader = nullptr;
  transport.Disconnect(7);
  for (const ParameterCopy& version : versions) EXPECT_EQ(version.use_count(), 1);
}

TEST(Publisher, AnotherLifeOfAWorkerGetsTheVersionAgain) {
  HeldTransport transport;
  Publisher publisher(transport, Slicing(kCut.total(), 16), 0, NoneWaits);
  for (const PeerId peer : {1, 2}) {
    Publisher::Reader(publisher, peer, Header()).Publish(3, Values(1));
  }
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
  PartitionBlocks blocks(source, {100, 200});
  PartitionFeed feed(transport, blocks, 1, {.job = 9}, 0, NeverFails);
  feed.Place({1}, /*copies=*/false);
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
  PartitionBlocks blocks(source, std::vector<uint32_t>(12, 1));
  PartitionFeed feed(transport, blocks, 1, Header(), 0, NeverFails);
  feed.Place({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, /*copies=*/false);
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
  EXPECT_LE(most, kFeedWindow + (1u << 20));
  EXPECT_EQ(transport.sent.back().row_id, 11u);
}

TEST_F(Feed, StopsWithItsWorkerAndStartsAfreshWithTheNext) {
  const Dataset data = Samples(12, 4u << 18);
  const MemorySource source(data);
  PartitionBlocks blocks(source, std::vector<uint32_t>(12, 1));
  auto feed = std::make_unique<PartitionFeed>(transport, blocks, 1, Header(), 0, NeverFails);
  feed->Place({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, /*copies=*/false);
  feed = nullptr;
  const size_t before = transport.sent.size();
  transport.Disconnect(1);
  EXPECT_EQ(transport.sent.size(), before);
  PartitionFeed next(transport, blocks, 2, Header(), 0, NeverFails);
  next.Place({11}, /*copies=*/false);
  EXPECT_GT(transport.sent.size(), before + 1);
  EXPECT_EQ(transport.held.rbegin()->second.peer, 2u);
}

// The test plays a worker that reports what it has received.
class CopiesFeed : public Feed {
 protected:
  // Lets all leave that is queued, and returns the pieces of data.
  std::vector<Header> Leave() {
    std::vector<Header> pieces;
    while (!transport.held.empty()) {
      const HeldTransport::Message message = transport.LetGo();
      Header header = message.header;
      header.length = static_cast<uint32_t>(message.bytes.size());
      if (header.kind == FrameKind::kPartition) pieces.push_back(header);
    }
    return pieces;
  }
  // Messages that announce partitions.
  ptrdiff_t Announcements() const {
    return std::count_if(transport.sent.begin(), transport.sent.end(),
                         [](const Header& header) { return header.kind == FrameKind::kControl; });
  }
  // The worker has all bytes of these pieces.
  Status Report(const std::vector<Header>& pieces) {
    wire::DataCameT came;
    for (const Header& piece : pieces) {
      received_ += piece.length;
      if (piece.offset + piece.length == piece.total) came.partitions.push_back(piece.row_id);
    }
    came.bytes = received_;
    return feed_.Came(came);
  }

  // Partitions of 160 kB: two pieces of 64 KiB and a smaller one.
  static constexpr size_t kPiece = size_t{64} << 10;
  const Dataset data_ = Samples(40, 10'000);
  const MemorySource source_{data_};
  PartitionBlocks blocks_{source_, std::vector<uint32_t>(10, 4)};
  PartitionFeed feed_{transport, blocks_, 1, Header(), kPiece * kCopyParts, NeverFails};
  uint64_t received_ = 0;
};

// The short end of a block leaves with the first piece of the next one.
TEST_F(CopiesFeed, ALinkHasOneFullPieceUntilTheWorkerHasIt) {
  feed_.Place({0, 1}, /*copies=*/true);
  for (const std::vector<PartitionId>& of :
       std::vector<std::vector<PartitionId>>{{0}, {0}, {0, 1}, {1}, {1}}) {
    const std::vector<Header> pieces = Leave();
    std::vector<PartitionId> partitions;
    for (const Header& piece : pieces) {
      partitions.push_back(piece.row_id);
      EXPECT_LE(piece.length, kPiece);
    }
    EXPECT_EQ(partitions, of);
    EXPECT_TRUE(Report(pieces).ok());
  }
  EXPECT_TRUE(Leave().empty());
}

TEST_F(CopiesFeed, ParametersWaitForThePieceOnTheLink) {
  feed_.Place({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, /*copies=*/true);
  Publisher publisher(transport, kCut, 0, NoneWaits);
  Publisher::Reader(publisher, 1, Header()).Publish(3, Values(1));
  std::vector<FrameKind> kinds;
  for (const Header& header : transport.sent) kinds.push_back(header.kind);
  EXPECT_EQ(kinds, (std::vector{FrameKind::kControl, FrameKind::kPartition, FrameKind::kParameters,
                                FrameKind::kParameters, FrameKind::kParameters}));
}

TEST_F(CopiesFeed, NeededDataFollowTheBlockThatWasBegunAtOnce) {
  feed_.Place({0, 1}, /*copies=*/true);
  std::vector<Header> pieces = Leave();
  ASSERT_EQ(pieces.size(), 1u);
  feed_.Place({7, 8}, /*copies=*/false);
  const std::vector<Header> more = Leave();
  pieces.insert(pieces.end(), more.begin(), more.end());
  std::vector<uint32_t> whole;
  for (const Header& piece : pieces) {
    if (piece.offset + piece.length == piece.total) whole.push_back(piece.row_id);
  }
  EXPECT_EQ(whole, (std::vector<uint32_t>{0, 7, 8}));
  EXPECT_TRUE(Report(pieces).ok());
  EXPECT_EQ(Leave().front().row_id, 1u);
}

TEST_F(CopiesFeed, ACopyThatAStepNeedsOvertakesTheOthersAndIsSentOnce) {
  feed_.Place({0, 1, 2, 3}, /*copies=*/true);
  EXPECT_TRUE(Report(Leave()).ok());  // The first piece of 0.
  feed_.Place({0, 3, 5}, /*copies=*/false);
  EXPECT_EQ(Announcements(), 2) << "5 is new";
  std::vector<Header> pieces = Leave();
  std::vector<uint32_t> whole;
  for (const Header& piece : pieces) {
    if (piece.offset + piece.length == piece.total) whole.push_back(piece.row_id);
  }
  EXPECT_EQ(whole, (std::vector<uint32_t>{0, 3, 5}));
  feed_.Place({3}, /*copies=*/false);  // It has left, and the report is on its way.
  EXPECT_EQ(Announcements(), 2);
  EXPECT_TRUE(Report(pieces).ok());
  for (pieces = Leave(); !pieces.empty(); pieces = Leave()) {
    for (const Header& piece : pieces) EXPECT_TRUE(piece.row_id == 1 || piece.row_id == 2);
    EXPECT_TRUE(Report(pieces).ok());
  }
}

TEST_F(CopiesFeed, PiecesGrowWithTheParametersBehindThem) {
  PartitionFeed feed(transport, blocks_, 2, Header(), size_t{100'000} * kCopyParts, NeverFails);
  feed.Place({0}, /*copies=*/true);
  EXPECT_EQ(Leave().front().length, 100'000u);
}

TEST_F(CopiesFeed, AWorkerCannotHaveWhatItWasNotSent) {
  feed_.Place({0, 4}, /*copies=*/true);
  const std::vector<Header> pieces = Leave();
  ASSERT_EQ(pieces.size(), 1u);
  wire::DataCameT more;
  more.bytes = pieces[0].length + 1;
  EXPECT_EQ(feed_.Came(more).code(), StatusCode::kDataError);
  wire::DataCameT other;
  for (const PartitionId partition : {3, 4}) {  // 4 waits for 0.
    other.partitions = {partition};
    EXPECT_EQ(feed_.Came(other).code(), StatusCode::kDataError);
  }
  EXPECT_TRUE(Report(pieces).ok());
  EXPECT_EQ(feed_.Came(wire::DataCameT()).code(), StatusCode::kDataError) << "fewer than before";
}

TEST_F(Feed, SaysOnceWhichSamplesCannotBeHad) {
  const Dataset data = Samples(6, 3);
  const TornSource source(data);
  std::vector<Status> failures;
  PartitionBlocks blocks(source, {2, 2, 2});
  PartitionFeed feed(transport, blocks, 1, Header(), 0,
                     [&](const Status& why) { failures.push_back(why); });
  feed.Place({0, 1, 2}, /*copies=*/false);
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures[0].code(), StatusCode::kResource);
  EXPECT_EQ(failures[0].ToString(), "partition 1: the disk is gone");
  EXPECT_EQ(transport.sent.size(), 2u);  // The announcement and the first partition.
}

}  // namespace
}  // namespace motley
