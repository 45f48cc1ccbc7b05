// SPDX-License-Identifier: Apache-2.0
// What an owner keeps and sends for a checkpoint that is read while steps go on.
#include "runtime/shard/shard_copies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "base/loop/virtual_loop.h"
#include "devices/paced_device.h"
#include "runtime/links/messages.h"
#include "tests/runtime/held_transport.h"

namespace motley {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr PeerId kCoordinator = 7;

class ShardCopiesTest : public testing::Test {
 protected:
  ShardCopiesTest() {
    auto made = Optimizer::Create({.name = "momentum"}, 4);
    shard_.optimizer = std::move(made).value();
    shard_.optimizer->SetSteps(9);
    std::fill(shard_.optimizer->state().begin(), shard_.optimizer->state().end(), 5.0F);
    shard_.version = 12;
    shard_.values = std::make_shared<std::vector<float>>(std::vector<float>{1, 2, 3, 4});
  }

  void Keep(uint64_t version, uint32_t id) {
    wire::ShardCopyT copy;
    copy.version = version;
    copy.id = id;
    copies_.Keep(copy, shard_);
    while (loop_.RunOne()) {
    }
  }
  Status Ask(uint32_t id, uint64_t offset, uint32_t count) {
    wire::ShardPieceT piece;
    piece.id = id;
    piece.offset = offset;
    piece.count = count;
    return copies_.Send(piece);
  }
  wire::ShardCopiedT Copied() {
    const auto control = DecodeControl(transport_.LetGo().bytes);
    EXPECT_TRUE(control.ok());
    const auto* copied = control->body.AsShardCopied();
    EXPECT_NE(copied, nullptr);
    return copied != nullptr ? *copied : wire::ShardCopiedT();
  }
  // Lets the oldest piece leave.
  std::vector<float> Piece() {
    const HeldTransport::Message sent = transport_.LetGo(FrameKind::kShardCopy);
    EXPECT_EQ(sent.peer, kCoordinator);
    EXPECT_EQ(sent.header.version, 12u);
    EXPECT_EQ(sent.header.total, 8u);
    std::vector<float> values(sent.bytes.size() / sizeof(float));
    std::memcpy(values.data(), sent.bytes.data(), sent.bytes.size());
    return values;
  }
  void Pass(Duration time) { loop_.RunUntilTime(loop_.Now() + time); }

  VirtualLoop loop_;
  HeldTransport transport_;
  const std::unique_ptr<Device> device_ = MakeInlineDevice(loop_).value();
  ShardCopies::Shard shard_;
  bool stepping_ = false;
  ShardCopies copies_{
      {loop_, transport_, *device_, kCoordinator, Header(), [this] { return stepping_; }}};
};

TEST_F(ShardCopiesTest, AreOfTheVersionAlthoughStepsGoOn) {
  Keep(12, 3);
  const wire::ShardCopiedT copied = Copied();
  EXPECT_EQ(copied.error, "");
  EXPECT_EQ(copied.id, 3u);
  EXPECT_EQ(copied.arrays, 1u);
  EXPECT_EQ(copied.optimizer_steps, 9u);
  std::fill(shard_.optimizer->state().begin(), shard_.optimizer->state().end(), 6.0F);
  shard_ = {};  // The shard moved.
  ASSERT_TRUE(Ask(3, 2, 2).ok());
  EXPECT_THAT(Piece(), ElementsAre(3, 4));
  ASSERT_TRUE(Ask(3, 4, 3).ok());
  EXPECT_THAT(Piece(), ElementsAre(5, 5, 5));
}

// A new reading may begin while the last piece of one that was given up still leaves.
TEST_F(ShardCopiesTest, LeaveOneAfterTheOther) {
  Keep(12, 3);
  Copied();
  ASSERT_TRUE(Ask(3, 0, 2).ok());
  ASSERT_TRUE(Ask(3, 2, 2).ok());
  EXPECT_EQ(transport_.held.size(), 1u);
  EXPECT_THAT(Piece(), ElementsAre(1, 2));
  EXPECT_THAT(Piece(), ElementsAre(3, 4));
}

TEST_F(ShardCopiesTest, StayBehindTheBytesOfSteps) {
  Keep(12, 3);
  Copied();
  stepping_ = true;
  ASSERT_TRUE(Ask(3, 0, 2).ok());
  Pass(milliseconds(500));
  EXPECT_TRUE(transport_.held.empty());
  stepping_ = false;
  Pass(milliseconds(5));
  EXPECT_THAT(Piece(), ElementsAre(1, 2));
}

// Otherwise a job whose links are never free would have no checkpoint.
TEST_F(ShardCopiesTest, LeaveAfterASecondInAnyCase) {
  Keep(12, 3);
  Copied();
  stepping_ = true;
  ASSERT_TRUE(Ask(3, 0, 2).ok());
  Pass(milliseconds(1005));
  EXPECT_THAT(Piece(), ElementsAre(1, 2));
  ASSERT_TRUE(Ask(3, 2, 2).ok());
  Pass(milliseconds(500));
  EXPECT_TRUE(transport_.held.empty()) << "each piece waits";
  Pass(milliseconds(505));
  EXPECT_THAT(Piece(), ElementsAre(3, 4));
}

TEST_F(ShardCopiesTest, AreNotMadeOfAnotherVersion) {
  Keep(13, 3);
  EXPECT_THAT(Copied().error, HasSubstr("does not have version 13"));
  shard_ = {};
  Keep(12, 4);
  EXPECT_THAT(Copied().error, HasSubstr("does not have version 12"));
}

TEST_F(ShardCopiesTest, AreForgotten) {
  const std::weak_ptr<const std::vector<float>> values = shard_.values;
  Keep(12, 3);
  Copied();
  shard_ = {};
  stepping_ = true;
  ASSERT_TRUE(Ask(3, 0, 2).ok());
  copies_.Forget(2);
  EXPECT_FALSE(values.expired());
  copies_.Forget(3);
  EXPECT_TRUE(values.expired());
  EXPECT_TRUE(Ask(3, 0, 2).ok()) << "the coordinator did not know yet";
  stepping_ = false;
  Pass(milliseconds(100));
  EXPECT_TRUE(transport_.held.empty());
}

TEST_F(ShardCopiesTest, HaveNoOtherPieces) {
  Keep(12, 3);
  for (const auto& [offset, count] : std::vector<std::pair<uint64_t, uint32_t>>{
           {0, 0}, {8, 1}, {7, 2}, {3, 2}, {~uint64_t{0}, 2}}) {
    EXPECT_EQ(Ask(3, offset, count).code(), StatusCode::kDataError) << offset << " " << count;
  }
}

}  // namespace
}  // namespace motley
