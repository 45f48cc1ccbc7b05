// SPDX-License-Identifier: Apache-2.0
// Tests channels over every kind of stream. TransportSuite tests what a transport makes of them.
#include "transport/channel/channel.h"

#include <gmock/gmock.h>

#include "tests/conformance/fake_stream.h"
#include "tests/conformance/transport_suite.h"
#include "tests/transport/stream/stream_worlds.h"
#include "transport/task_queue.h"
#include "transport/wire/checksum.h"

namespace motley {
namespace {

using testing::HasSubstr;

// A node with one channel, without shared memory.
class ChannelNode final : public Channel::Owner, public Receiver {
 public:
  ChannelNode() : channel_(std::make_shared<Channel>(1, *this)) {}
  ~ChannelNode() override { Close(); }

  SendId Send(Bytes payload, Priority priority, uint32_t row) {
    const auto kept = std::make_shared<Bytes>(std::move(payload));
    Outgoing message{++last_id_,
                     {.kind = FrameKind::kGradient, .row_id = row},
                     {*kept},
                     priority,
                     [this, kept, id = last_id_](Status status) { done[id] = std::move(status); }};
    EXPECT_TRUE(SetLength(message).ok());
    channel_->Send(std::move(message));
    return last_id_;
  }
  void Close() {
    for (Outgoing& message : channel_->Close()) message.done(Status::Unavailable("closed"));
  }
  void RunLate() { later_.Run(); }
  Channel& channel() { return *channel_; }

  Receiver* receiver() const override { return const_cast<ChannelNode*>(this); }
  void OnConnectionLost(Channel&, const Status& why) override {
    Close();
    lost = why;
  }
  void RunLater(Task task) override { later_.Add(std::move(task)); }
  void OnWaiting(SendId, PeerId, bool) override {}
  SharedArena* arena() override { return nullptr; }
  const PassableFile* arena_file() override { return nullptr; }
  ParallelFor* parallel() const override { return nullptr; }

  void OnConnected(PeerId, const PeerIdentity& identity) override { peer = identity.address; }
  std::span<std::byte> OnPayload(PeerId, const Header& header) override {
    EXPECT_NE(peer, "") << "a payload before OnConnected";
    payload_.resize(header.length);
    return payload_;
  }
  void OnPayloadDone(PeerId, const Header& header, bool) override {
    arrived.push_back({1, header, false, std::exchange(payload_, {})});
  }
  void OnLost(PeerId, const Status&) override {}

  std::string peer;
  std::deque<Arrived> arrived;
  std::map<SendId, Status> done;
  std::optional<Status> lost;

 private:
  std::shared_ptr<Channel> channel_;
  TaskQueue later_;
  Bytes payload_;
  SendId last_id_ = 0;
};

Bytes Frame(BytesView payload, uint32_t row) {
  const auto header = EncodeHeader({.kind = FrameKind::kGradient,
                                    .row_id = row,
                                    .length = static_cast<uint32_t>(payload.size())},
                                   Checksum::Of(payload));
  Bytes frame(header.begin(), header.end());
  frame.insert(frame.end(), payload.begin(), payload.end());
  return frame;
}

// A node on one end of a stream; the test has the other end.
class ChannelTest : public testing::TestWithParam<StreamCase> {
 protected:
  ChannelTest() : world_(GetParam().make_world()) {
    auto [a, b] = world_->Connect();
    EXPECT_TRUE(a && b);
    node_.channel().Start(std::move(a));
    other_.emplace(std::move(b));
    other_->ReadAll();
  }
  void Run(const std::function<bool()>& done) {
    ASSERT_TRUE(world_->RunUntil([&] {
      node_.RunLate();
      return done();
    })) << "the condition never held";
  }
  void ExpectLost(StatusCode code, const std::string& why) {
    Run([&] { return node_.lost.has_value(); });
    EXPECT_EQ(node_.lost->code(), code) << node_.lost->ToString();
    EXPECT_THAT(node_.lost->ToString(), HasSubstr(why));
    EXPECT_THAT(node_.lost->ToString(), HasSubstr(node_.peer));
  }

  std::unique_ptr<StreamWorld> world_;
  ChannelNode node_;
  std::optional<StreamEnd> other_;
};

INSTANTIATE_TEST_SUITE_P(Streams, ChannelTest, testing::ValuesIn(AllStreams()), StreamCaseName);

TEST_P(ChannelTest, MessagesArriveWholeBothWays) {
  ChannelNode near, far;
  auto [a, b] = world_->Connect();
  near.channel().Start(std::move(a));
  far.channel().Start(std::move(b));
  const std::vector<size_t> sizes{0, 1, 100, 5000, 70'000, 0, 3};
  for (uint32_t i = 0; i < sizes.size(); ++i) {
    near.Send(Pattern(sizes[i], i), Priority::kBulk, i);
    far.Send(Pattern(sizes[i], 100 + i), Priority::kBulk, i);
  }
  Run([&] { return near.arrived.size() == sizes.size() && far.arrived.size() == sizes.size(); });
  Run([&] { return near.done.size() == sizes.size() && far.done.size() == sizes.size(); });
  for (uint32_t i = 0; i < sizes.size(); ++i) {
    EXPECT_EQ(far.arrived[i].header.row_id, i);
    EXPECT_TRUE(far.arrived[i].payload == Pattern(sizes[i], i));
    EXPECT_TRUE(near.arrived[i].payload == Pattern(sizes[i], 100 + i));
  }
  EXPECT_EQ(near.channel().traffic().sent, far.channel().traffic().received);
  EXPECT_EQ(near.channel().queued_bytes(), 0u);
}

TEST_P(ChannelTest, AnEndBetweenMessagesIsALoss) {
  other_->Write({Frame(Pattern(100, 1), 7)});
  Run([&] { return other_->written == 1; });
  other_->Destroy();
  ExpectLost(StatusCode::kUnavailable, "closed the connection");
  EXPECT_EQ(node_.lost->ToString().find("inside a message"), std::string::npos);
  ASSERT_EQ(node_.arrived.size(), 1u);
  EXPECT_EQ(node_.arrived[0].header.row_id, 7u);
}

TEST_P(ChannelTest, AnEndInsideAMessageIsNamed) {
  for (const size_t missing : {size_t{1}, size_t{99}, size_t{101}}) {
    ChannelNode node;
    auto [a, b] = world_->Connect();
    node.channel().Start(std::move(a));
    StreamEnd other(std::move(b));
    Bytes frame = Frame(Pattern(100, 1), 7);
    frame.resize(frame.size() - missing);
    other.Write({frame});
    Run([&] { return other.written == 1; });
    other.Destroy();
    Run([&] { return node.lost.has_value(); });
    EXPECT_THAT(node.lost->ToString(), HasSubstr("inside a message"));
    EXPECT_TRUE(node.arrived.empty());
  }
}

TEST_P(ChannelTest, DamagedBytesEndTheConnection) {
  Bytes payload = Frame(Pattern(3000, 1), 7);
  payload[kHeaderSize + 1000] ^= std::byte{4};
  other_->Write({payload});
  ExpectLost(StatusCode::kDataError, "checksum");
  Run([&] { return other_->ended.has_value(); });
  EXPECT_TRUE(node_.arrived.empty());
}

TEST_P(ChannelTest, DamagedHeadersEndTheConnection) {
  Bytes frame = Frame(Pattern(3000, 1), 7);
  frame[20] ^= std::byte{4};
  other_->Write({frame});
  ExpectLost(StatusCode::kDataError, "dropped the connection");
}

TEST_P(ChannelTest, AWriterWhosePeerDoesNotReadKeepsMostOfItsQueue) {
  ChannelNode node;
  auto [a, b] = world_->Connect();
  node.channel().Start(std::move(a));
  StreamEnd other(std::move(b));
  constexpr uint32_t kCount = 16;
  const size_t each = std::max<size_t>(world_->MoreThanFits() / 4, 200'000);
  std::vector<SendId> ids;
  for (uint32_t i = 0; i < kCount; ++i) {
    ids.push_back(node.Send(Pattern(each, i), Priority::kBulk, i));
  }
  const SendId urgent = node.Send(Pattern(10, 1), Priority::kControl, 99);
  EXPECT_FALSE(node.channel().Remove(ids[0])) << "its first byte has left";
  EXPECT_TRUE(node.channel().Remove(ids[kCount - 1])) << "it waits behind the window";
  EXPECT_TRUE(node.channel().Remove(urgent));
  EXPECT_GT(node.channel().queued_bytes(), (kCount - 2) * each);
  node.Close();
  EXPECT_EQ(node.done.size(), kCount - 1);
}

// Scripted streams fail where the test says.
class ChannelOverFake : public testing::Test {
 protected:
  ChannelOverFake() {
    auto [a, b] = world_.Connect();
    stream_ = static_cast<FakeStream*>(a.get());
    node_.channel().Start(std::move(a));
    other_ = std::move(b);
  }
  FakeWorld world_{{.most = 10}};
  ChannelNode node_;
  FakeStream* stream_ = nullptr;
  std::unique_ptr<PeerStream> other_;
};

TEST_F(ChannelOverFake, WritesThatFailAreALossInALaterTurn) {
  const SendId first = node_.Send(Pattern(100, 1), Priority::kBulk, 1);
  stream_->FailWrites(Status::Unavailable("the cable was cut"));
  const SendId second = node_.Send(Pattern(100, 1), Priority::kBulk, 1);
  EXPECT_FALSE(node_.lost) << "lost inside Send";
  node_.RunLate();
  ASSERT_TRUE(node_.lost);
  EXPECT_THAT(node_.lost->ToString(), HasSubstr("the cable was cut"));
  EXPECT_EQ(node_.done.at(first).code(), StatusCode::kUnavailable);
  EXPECT_EQ(node_.done.at(second).code(), StatusCode::kUnavailable);
}

TEST_F(ChannelOverFake, BrokenConnectionsAreALoss) {
  stream_->Break(Status::Unavailable("the machine burns"));
  world_.Turn();
  ASSERT_TRUE(node_.lost);
  EXPECT_EQ(node_.lost->code(), StatusCode::kUnavailable);
  EXPECT_THAT(node_.lost->ToString(), HasSubstr("broke: the machine burns"));
}

TEST_F(ChannelOverFake, MessagesAreDoneWhenTheirLastByteHasLeft) {
  const SendId id = node_.Send(Pattern(100, 1), Priority::kBulk, 1);
  const size_t size = kHeaderSize + 100;
  for (size_t sent = 0; sent < size; sent += 10) {
    EXPECT_FALSE(node_.done.contains(id)) << sent;
    EXPECT_EQ(node_.channel().traffic().sent, sent);
    world_.Turn();
  }
  EXPECT_TRUE(node_.done.at(id).ok());
  EXPECT_EQ(node_.channel().traffic().sent, size);
}

TEST_F(ChannelOverFake, PayloadsOfOneMachineAreNotHashed) {
  FakeWorld near({.most = 1000, .same_machine = true});
  ChannelNode node;
  auto [a, b] = near.Connect();
  node.channel().Start(std::move(a));
  StreamEnd other(std::move(b));
  other.ReadAll();
  node.Send(Pattern(100, 1), Priority::kBulk, 1);
  ASSERT_TRUE(near.RunUntil([&] { return other.came.size() == kHeaderSize + 100; }));
  EXPECT_FALSE(DecodeHeader(std::span(other.came).first<kHeaderSize>())->checked);
}

}  // namespace
}  // namespace motley
