// SPDX-License-Identifier: Apache-2.0
// Parameters of two shards, each of which may get another owner, and so a later epoch.
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "runtime/worker/worker_inbox.h"

namespace motley {
namespace {

class ParameterEpochs : public testing::Test {
 protected:
  ParameterEpochs() { inbox.ShardsAreRemote(); }
  // The shard's slice, with this value everywhere. False: it is not taken.
  bool Send(uint32_t shard, uint64_t version, uint32_t epoch, float value, uint32_t rollbacks = 0) {
    ParameterInbox::Arriving arriving;
    return Begin(shard, version, epoch, value, arriving, rollbacks) && inbox.Finish(arriving).ok();
  }
  bool Begin(uint32_t shard, uint64_t version, uint32_t epoch, float value,
             ParameterInbox::Arriving& arriving, uint32_t rollbacks = 0) {
    Header header;
    header.row = rollbacks;
    header.shard = shard;
    header.version = version;
    header.attempt = epoch;
    header.offset = shard * 4;
    header.total = 8;
    header.length = 4 * sizeof(float);
    const auto room = inbox.Begin(header, arriving);
    EXPECT_TRUE(room.ok());
    if (!room.ok() || room->empty()) return false;
    std::fill_n(reinterpret_cast<float*>(room->data()), 4, value);
    return true;
  }
  std::vector<float> Newest(uint64_t version) {
    const auto values = inbox.AtLeast(version);
    if (values == nullptr) return {};
    return {values->begin(), values->end()};
  }
  static std::vector<float> Of(float first, float second) {
    return {first, first, first, first, second, second, second, second};
  }

  ParameterInbox inbox{Slicing(std::vector<size_t>{4, 8}, 4)};
};

TEST_F(ParameterEpochs, AnEarlierOwnerIsNotHeardAnyMore) {
  EXPECT_TRUE(Send(0, 1, 2, 10));
  EXPECT_FALSE(Send(0, 1, 1, 99));
  EXPECT_FALSE(Send(0, 7, 1, 99)) << "not of a newer version either";
  EXPECT_TRUE(Send(1, 1, 1, 20)) << "the other shard has epochs of its own";
  EXPECT_EQ(Newest(1), Of(10, 20));
}

TEST_F(ParameterEpochs, SayWhatANewOwnerHasToSend) {
  EXPECT_EQ(inbox.Needs(0), 0u);
  EXPECT_TRUE(Send(0, 3, 1, 10));
  EXPECT_EQ(inbox.Needs(0), 4u);
  EXPECT_EQ(inbox.Needs(1), 0u);
  EXPECT_TRUE(Send(1, 3, 1, 20));
  const auto used = inbox.AtLeast(3);
  EXPECT_TRUE(Send(0, 4, 1, 30));
  EXPECT_EQ(inbox.Needs(0), 5u);
  EXPECT_EQ(inbox.Needs(1), 4u);
  inbox.RolledBack(1);
  EXPECT_EQ(inbox.Needs(0), 4u);
}

TEST_F(ParameterEpochs, ANewOwnerReplacesWhatTheEarlierOneSentOfAVersion) {
  EXPECT_TRUE(Send(0, 1, 1, 99));
  EXPECT_TRUE(Send(0, 1, 2, 10));
  EXPECT_TRUE(Newest(1).empty());
  EXPECT_TRUE(Send(1, 1, 1, 20));
  EXPECT_EQ(Newest(1), Of(10, 20));
}

TEST_F(ParameterEpochs, AWholeVersionThatNobodyUsedIsReplacedToo) {
  EXPECT_TRUE(Send(0, 1, 1, 99));
  EXPECT_TRUE(Send(1, 1, 1, 20));
  EXPECT_TRUE(Send(0, 1, 2, 10));
  EXPECT_EQ(Newest(1), Of(10, 20));
}

TEST_F(ParameterEpochs, AVersionInUseStaysAsItIs) {
  EXPECT_TRUE(Send(0, 1, 1, 10));
  EXPECT_TRUE(Send(1, 1, 1, 20));
  EXPECT_EQ(Newest(1), Of(10, 20));
  EXPECT_FALSE(Send(0, 1, 2, 99));
  EXPECT_EQ(Newest(1), Of(10, 20));
  EXPECT_TRUE(Send(0, 2, 2, 30));
  EXPECT_TRUE(Send(1, 2, 1, 40));
  EXPECT_EQ(Newest(2), Of(30, 40));
}

TEST_F(ParameterEpochs, AVersionThatMayBeTakenBackDoesNotReplaceTheOneInUse) {
  EXPECT_TRUE(Send(0, 1, 1, 10));
  EXPECT_TRUE(Send(1, 1, 1, 20));
  const auto used = inbox.AtLeast(1);
  EXPECT_TRUE(Send(0, 2, 1, 30));
  EXPECT_TRUE(Send(1, 2, 1, 40));
  EXPECT_EQ(Newest(1), Of(10, 20));
  EXPECT_EQ(Newest(2), Of(30, 40));
  EXPECT_TRUE(Newest(1).empty());
}

TEST_F(ParameterEpochs, ARollbackTakesBackWhatNobodyUses) {
  EXPECT_TRUE(Send(0, 1, 1, 10));
  EXPECT_TRUE(Send(1, 1, 1, 20));
  const auto used = inbox.AtLeast(1);
  EXPECT_TRUE(Send(0, 2, 1, 99));
  ParameterInbox::Arriving late;
  EXPECT_TRUE(Begin(1, 2, 1, 99, late));
  inbox.RolledBack(1);
  EXPECT_TRUE(inbox.Finish(late).ok());
  EXPECT_TRUE(Newest(2).empty());
  EXPECT_FALSE(Send(0, 2, 1, 99)) << "sent before";
  EXPECT_EQ(Newest(1), Of(10, 20)) << "it is in use";
  EXPECT_TRUE(Send(0, 2, 1, 30, 1));
  EXPECT_TRUE(Send(1, 2, 1, 40, 1));
  EXPECT_EQ(Newest(2), Of(30, 40));
}

// A worker may hear of it from an owner first.
TEST_F(ParameterEpochs, SlicesTellOfRollbacks) {
  EXPECT_TRUE(Send(0, 2, 1, 99));
  EXPECT_TRUE(Send(1, 1, 1, 20, 1)) << "older than what was taken back";
  EXPECT_FALSE(Send(1, 2, 1, 99));
  EXPECT_TRUE(Send(0, 1, 1, 10, 1));
  EXPECT_EQ(Newest(1), Of(10, 20));
}

TEST_F(ParameterEpochs, AShardsNewValuesAreReportedWhenAllAreThere) {
  std::vector<std::pair<uint32_t, uint64_t>> came;
  inbox.SetCame([&came](uint32_t shard, uint64_t version, std::span<const float> values) {
    EXPECT_EQ(values.size(), 4u);
    EXPECT_EQ(values.front(), 20);
    came.emplace_back(shard, version);
  });
  EXPECT_TRUE(Send(1, 3, 1, 20));
  EXPECT_EQ(came, (std::vector<std::pair<uint32_t, uint64_t>>{{1, 3}}));
}

// A worker needs room for one version, unless it still computes with an older one.
TEST_F(ParameterEpochs, TheNextVersionTakesTheRoomOfOneThatNobodyUses) {
  const auto send = [this](uint64_t version, float value) {
    EXPECT_TRUE(Send(0, version, 1, value) && Send(1, version, 1, value));
    return inbox.AtLeast(version);
  };
  const float* const room = send(1, 10)->data();
  const auto used = send(2, 20);
  EXPECT_EQ(used->data(), room);
  const auto newer = send(3, 30);
  EXPECT_NE(newer->data(), room);
  EXPECT_EQ(std::vector(used->begin(), used->end()), Of(20, 20));
}

}  // namespace
}  // namespace motley
