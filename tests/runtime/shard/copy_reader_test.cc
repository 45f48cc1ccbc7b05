// SPDX-License-Identifier: Apache-2.0
// Reads a version for a checkpoint from two owners: worker 0 has floats 0 to 4, worker 1 has 4
// to 7.
#include "runtime/holders/copy_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "base/loop/virtual_loop.h"
#include "tests/runtime/held_transport.h"

namespace motley {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr size_t kSlice = 3;

class CopyReaderTest : public testing::Test {
 protected:
  CopyReaderTest() {
    ShardState state;
    state.parameters = std::make_shared<std::vector<float>>(7);
    placement_.Place({0, 1}, {{0, "a"}, {1, "b"}}, state);
    transport_.held.clear();
  }

  void Begin(uint64_t version = 12) {
    reader_.Begin(version, [this](Result<ShardState> read) { read_ = std::move(read); });
    transport_.held.clear();
  }
  Status Copied(WorkerId node, uint32_t id, uint32_t arrays, const std::string& error = "") {
    wire::ShardCopiedT copied;
    copied.shard = node;
    copied.id = id;
    copied.arrays = arrays;
    copied.optimizer_steps = 9;
    copied.error = error;
    return reader_.OnCopied(node, copied);
  }
  // The pieces that were asked for since the last call.
  std::vector<wire::ShardPieceT> Asked() {
    std::vector<wire::ShardPieceT> pieces;
    while (!transport_.held.empty()) {
      const auto control = DecodeControl(transport_.LetGo().bytes);
      if (const auto* piece = control->body.AsShardPiece()) pieces.push_back(*piece);
    }
    return pieces;
  }
  static Header HeaderOf(const wire::ShardPieceT& piece) {
    Header header;
    header.kind = FrameKind::kShardCopy;
    header.shard = piece.shard;
    header.row_id = piece.id;
    header.version = 12;
    header.offset = piece.offset;
    header.length = static_cast<uint32_t>(piece.count * sizeof(float));
    return header;
  }
  // Each float says where it is: its shard, and its offset there.
  void Give(const wire::ShardPieceT& piece) {
    const auto room = reader_.BeginPiece(piece.shard, HeaderOf(piece));
    ASSERT_TRUE(room.ok()) << room.status().ToString();
    for (uint32_t i = 0; i < piece.count; ++i) {
      const auto value = static_cast<float>(100 * piece.shard + piece.offset + i);
      std::memcpy(room->data() + i * sizeof(float), &value, sizeof(float));
    }
    reader_.FinishPiece(piece.shard, HeaderOf(piece));
  }

  VirtualLoop loop_;
  HeldTransport transport_;
  ShardPlacement placement_{transport_, {Route(7, 2), kSlice, 1, {}}, [](WorkerId worker) {
                              return LinkLoad::To{worker + 1, Header()};
                            }};
  CopyReader reader_{loop_, placement_, kSlice, /*workers=*/2};
  std::optional<Result<ShardState>> read_;
};

TEST_F(CopyReaderTest, PutsThePiecesTogether) {
  Begin();
  ASSERT_TRUE(Copied(1, 1, 1).ok());
  EXPECT_THAT(Asked(), IsEmpty()) << "all pieces are of copies that are there";
  ASSERT_TRUE(Copied(0, 1, 1).ok());
  size_t pieces = 0;
  for (auto asked = Asked(); !asked.empty(); asked = Asked()) {
    EXPECT_EQ(asked.size(), 1u) << "one at a time";
    ++pieces;
    Give(asked.front());
  }
  EXPECT_EQ(pieces, 6u) << "of 3 and 1, and of 3 floats, for the values and the state";
  ASSERT_TRUE(read_ && read_->ok());
  EXPECT_FALSE(reader_.reading());
  EXPECT_EQ((*read_)->version, 12u);
  EXPECT_EQ((*read_)->optimizer_steps, 9u);
  EXPECT_THAT(*(*read_)->parameters, ElementsAre(0, 1, 2, 3, 100, 101, 102));
  EXPECT_THAT(*(*read_)->arrays, ElementsAre(4, 5, 6, 7, 103, 104, 105));
}

TEST_F(CopyReaderTest, HasAnEmptyStateWithoutAny) {
  Begin();
  ASSERT_TRUE(Copied(0, 1, 0).ok());
  ASSERT_TRUE(Copied(1, 1, 0).ok());
  for (auto asked = Asked(); !asked.empty(); asked = Asked()) Give(asked.front());
  ASSERT_TRUE(read_ && read_->ok());
  EXPECT_THAT(*(*read_)->arrays, IsEmpty());
}

TEST_F(CopyReaderTest, GivesUpWithAnOwner) {
  Begin();
  ASSERT_TRUE(Copied(0, 1, 0).ok());
  ASSERT_TRUE(Copied(1, 1, 0).ok());
  const auto asked = Asked();
  reader_.Lost(1, Status::Unavailable("connection reset"));
  ASSERT_TRUE(read_);
  EXPECT_EQ(read_->status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(read_->status().ToString(), HasSubstr("worker 1 was lost"));
  EXPECT_FALSE(reader_.reading());
  // What comes late is read away.
  const auto room = reader_.BeginPiece(0, HeaderOf(asked[0]));
  ASSERT_TRUE(room.ok());
  EXPECT_TRUE(room->empty());
  EXPECT_TRUE(Copied(0, 1, 0).ok());
}

TEST_F(CopyReaderTest, GivesUpIfAnOwnerHasNoCopy) {
  Begin();
  ASSERT_TRUE(Copied(0, 1, 0).ok());
  ASSERT_TRUE(Copied(1, 1, 0, "there is no memory").ok());
  ASSERT_TRUE(read_);
  EXPECT_THAT(read_->status().ToString(),
              HasSubstr("worker 1 could not copy its part of it: there is no memory"));
}

TEST_F(CopyReaderTest, GivesUpAnOwnerThatHangs) {
  Begin();
  ASSERT_TRUE(Copied(0, 1, 0).ok());
  ASSERT_TRUE(Copied(1, 1, 0).ok());
  loop_.RunUntilTime(loop_.Now() + std::chrono::seconds(100));
  Give(Asked().front());
  loop_.RunUntilTime(loop_.Now() + std::chrono::seconds(100));
  EXPECT_TRUE(reader_.reading());
  loop_.RunUntilTime(loop_.Now() + std::chrono::seconds(20));
  ASSERT_TRUE(read_);
  EXPECT_THAT(read_->status().ToString(), HasSubstr("nothing of it came from worker 0 for 120 s"));
}

// A piece that is arriving needs its memory until it is there.
TEST_F(CopyReaderTest, StopsWhileAPieceArrives) {
  Begin();
  ASSERT_TRUE(Copied(0, 1, 0).ok());
  ASSERT_TRUE(Copied(1, 1, 0).ok());
  const auto asked = Asked();
  const auto room = reader_.BeginPiece(0, HeaderOf(asked[0]));
  ASSERT_TRUE(room.ok());
  reader_.Stop();
  std::fill(room->begin(), room->end(), std::byte{1});
  Begin();
  reader_.FinishPiece(0, HeaderOf(asked[0]));
  EXPECT_FALSE(read_);
  EXPECT_TRUE(reader_.reading());
}

// The server may dismiss a node, and reads what it sends until the connection is closed.
TEST_F(CopyReaderTest, ANodeThatIsLostWhileItsPieceArrivesHasRoomForIt) {
  Begin();
  ASSERT_TRUE(Copied(0, 1, 0).ok());
  ASSERT_TRUE(Copied(1, 1, 0).ok());
  const auto room = reader_.BeginPiece(0, HeaderOf(Asked()[0]));
  ASSERT_TRUE(room.ok());
  reader_.Lost(0, Status::Unavailable("it is dismissed"));
  EXPECT_TRUE(read_);
  Begin();  // It has joined again.
  ASSERT_TRUE(Copied(0, 2, 0).ok());
  ASSERT_TRUE(Copied(1, 2, 0).ok());
  const auto other = reader_.BeginPiece(0, HeaderOf(Asked()[0]));
  ASSERT_TRUE(other.ok());
  EXPECT_NE(other->data(), room->data());
  std::fill(room->begin(), room->end(), std::byte{1});
}

TEST_F(CopyReaderTest, IsGivenUpIfTheCopiesDoNotFit) {
  Begin();
  ASSERT_TRUE(Copied(0, 1, 1).ok());
  EXPECT_TRUE(Copied(1, 1, 2).ok()) << "nobody knows which of them is wrong";
  ASSERT_TRUE(read_);
  EXPECT_THAT(read_->status().ToString(), HasSubstr("does not fit"));
}

TEST_F(CopyReaderTest, TakesNothingElse) {
  Begin();
  ASSERT_TRUE(Copied(0, 1, 1).ok());
  ASSERT_TRUE(Copied(1, 1, 1).ok());
  const auto asked = Asked();
  EXPECT_FALSE(reader_.BeginPiece(1, HeaderOf(asked[0])).ok()) << "it is another node's";
  Header other = HeaderOf(asked[0]);
  other.version = 13;
  EXPECT_FALSE(reader_.BeginPiece(0, other).ok());
  other = HeaderOf(asked[0]);
  other.offset = 1;
  EXPECT_FALSE(reader_.BeginPiece(0, other).ok());
  Give(asked[0]);
  EXPECT_FALSE(reader_.BeginPiece(0, HeaderOf(asked[0])).ok()) << "it has come";
}

}  // namespace
}  // namespace motley
