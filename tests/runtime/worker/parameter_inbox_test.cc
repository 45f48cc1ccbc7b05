// SPDX-License-Identifier: Apache-2.0
// Parameters of two shards, each of which may get another owner, and so a later epoch.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "runtime/worker/worker_inbox.h"

namespace motley {
namespace {

class ParameterEpochs : public testing::Test {
 protected:
  // The shard's slice, with this value everywhere. False: it is not taken.
  bool Send(uint32_t shard, uint64_t version, uint32_t epoch, float value) {
    ParameterInbox::Arriving arriving;
    return Begin(shard, version, epoch, value, arriving) && inbox.Finish(arriving).ok();
  }
  bool Begin(uint32_t shard, uint64_t version, uint32_t epoch, float value,
             ParameterInbox::Arriving& arriving) {
    Header header;
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
    const ParameterCopy values = inbox.AtLeast(version);
    return values == nullptr ? std::vector<float>() : *values;
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

// A worker needs room for one version, unless it still computes with an older one.
TEST_F(ParameterEpochs, TheNextVersionTakesTheRoomOfOneThatNobodyUses) {
  const auto send = [this](uint64_t version, float value) {
    EXPECT_TRUE(Send(0, version, 1, value) && Send(1, version, 1, value));
    return inbox.AtLeast(version);
  };
  const float* const room = send(1, 10)->data();
  const ParameterCopy used = send(2, 20);
  EXPECT_EQ(used->data(), room);
  const ParameterCopy newer = send(3, 30);
  EXPECT_NE(newer->data(), room);
  EXPECT_EQ(*used, Of(20, 20));
}

}  // namespace
}  // namespace motley
