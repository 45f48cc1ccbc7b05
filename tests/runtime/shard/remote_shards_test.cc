// SPDX-License-Identifier: Apache-2.0
// Two workers own a shard each, and follow that of the other one.
#include "runtime/shard/remote_shards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "base/loop/virtual_loop.h"
#include "coding/gradient_code.h"
#include "runtime/links/messages.h"
#include "tests/runtime/held_transport.h"

namespace motley {
namespace {

class RemoteShardsTest : public testing::Test {
 protected:
  RemoteShardsTest() {
    ShardState state;
    state.parameters = std::make_shared<std::vector<float>>(8);
    state.arrays = std::make_shared<std::vector<float>>();
    shards_.Place({0, 1}, {{0, "a"}, {1, "b"}}, state);
    for (const WorkerId worker : {0, 1}) Answer(worker);
    EXPECT_TRUE(shards_.placed());
    EXPECT_TRUE(shards_.Open({0, 0}, 1, nullptr).ok());
    progress_ = 0;
  }

  static RemoteShards::Setup Shards() {
    RemoteShards::Setup setup{Route(8, 2), 4, {.name = "momentum"}};
    setup.workers = setup.places = 2;
    return setup;
  }
  RemoteShards::Hooks Hooks() {
    RemoteShards::Hooks hooks;
    hooks.node = [](WorkerId worker) { return LinkLoad::To{worker + 1, Header()}; };
    hooks.placed = [] {};
    hooks.whole = [this](const wire::ShardRowT& row) { whole_.push_back(row.row); };
    hooks.progress = [this] { ++progress_; };
    return hooks;
  }

  template <typename Message>
  void Say(WorkerId worker, const Message& message) {
    const auto control = DecodeControl(EncodeControl(message));
    ASSERT_TRUE(control.ok());
    const Result<bool> taken = shards_.OnMessage(worker, *control);
    ASSERT_TRUE(taken.ok()) << taken.status().ToString();
    EXPECT_TRUE(*taken);
  }
  void Answer(WorkerId worker) {
    for (const uint32_t shard : {0, 1}) {
      wire::ShardHeldT held;
      held.shard = shard;
      held.epoch = 1;
      Say(worker, held);
    }
  }

  VirtualLoop loop_;
  HeldTransport transport_;
  int progress_ = 0;
  std::vector<uint32_t> whole_;  // Rows.
  RemoteShards shards_{loop_, transport_, Shards(), Hooks()};
};

// A job whose nodes only answer that they are there must reach its limit for a step.
TEST_F(RemoteShardsTest, AnswersOfNodesAreNoProgress) {
  for (int i = 0; i < 3; ++i) {
    Answer(0);
    Answer(1);
  }
  EXPECT_EQ(progress_, 0);
}

TEST_F(RemoteShardsTest, EachPartOfAnUpdateIsProgressOnce) {
  wire::ShardSummedT sum;
  sum.shard = 1;
  sum.attempt = 1;
  sum.loss = std::make_unique<wire::Weight>();
  sum.weight = std::make_unique<wire::Weight>();
  wire::ShardSafeT safe;
  safe.shard = 1;
  safe.attempt = 1;
  for (int i = 0; i < 3; ++i) {
    Say(1, sum);
    Say(0, safe);
  }
  EXPECT_EQ(progress_, 2);
  safe.attempt = 2;
  Say(0, safe);
  EXPECT_EQ(progress_, 2) << "there is no such attempt";
}

TEST_F(RemoteShardsTest, AWorkerNamesNoNodeThatDoesNotExist) {
  wire::ShardReachedT reached;
  reached.node = 2;
  const auto control = DecodeControl(EncodeControl(reached));
  ASSERT_TRUE(control.ok());
  EXPECT_EQ(shards_.OnMessage(0, *control).status().code(), StatusCode::kDataError);
}

// That worker leaves by itself. Others may reach the owner.
TEST_F(RemoteShardsTest, AnOwnerThatOneWorkerDoesNotReachKeepsItsShards) {
  const size_t sent = transport_.sent.size();
  wire::ShardReachedT reached;
  reached.node = 1;
  reached.lost = true;
  Say(0, reached);
  EXPECT_EQ(transport_.sent.size(), sent);
  EXPECT_TRUE(shards_.placed());
}

// A shard that has its sum takes no more answers. The workers' later rows are not missing there.
TEST_F(RemoteShardsTest, ARowIsWholeWithoutShardsThatHaveTheirSum) {
  CodeRequest request;
  request.speeds = {1, 1, 1};
  request.partitions = 3;
  const auto form = std::make_shared<const CodeForm>(BuildCode("none", request).value());
  EXPECT_TRUE(shards_.Open({1, 0}, 1, form).ok());
  const auto row = [&](WorkerId owner, uint32_t shard, uint32_t number) {
    wire::ShardRowT whole;
    whole.shard = shard;
    whole.step = 1;
    whole.attempt = 1;
    whole.row = number;
    whole.loss = std::make_unique<wire::Weight>();
    whole.weight = std::make_unique<wire::Weight>();
    Say(owner, whole);
  };
  row(0, 0, 0);
  row(0, 0, 1);
  row(1, 1, 1);
  EXPECT_THAT(whole_, testing::ElementsAre(1));
  wire::ShardSummedT sum;
  sum.shard = 1;
  sum.step = 1;
  sum.attempt = 1;
  sum.loss = std::make_unique<wire::Weight>();
  sum.weight = std::make_unique<wire::Weight>();
  Say(1, sum);
  EXPECT_THAT(whole_, testing::ElementsAre(1, 0));
  row(0, 0, 2);
  EXPECT_THAT(whole_, testing::ElementsAre(1, 0, 2));
}

}  // namespace
}  // namespace motley
