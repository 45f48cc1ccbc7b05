// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker/shard_links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/loop/virtual_loop.h"
#include "runtime/links/messages.h"
#include "tests/runtime/held_transport.h"

namespace motley {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Node 0 owns the only shard, and node 1 follows it.
class ShardLinksTest : public testing::Test {
 protected:
  struct Transport : HeldTransport {
    void Disconnect(PeerId) override {}
  };

  ShardLinksTest() {
    wire::ShardsT shards;
    shards.owners = {0};
    shards.addresses = {"a:1", "b:1"};
    EXPECT_TRUE(links_.SetShards(shards).ok());
    for (const PeerId peer : {1, 2}) links_.OnConnected(peer, {});
    EXPECT_THAT(Reports(), ElementsAre("has 0", "has 1"));
  }
  // What the coordinator has heard since the last call.
  std::vector<std::string> Reports() {
    std::vector<std::string> reports;
    while (!transport_.held.empty()) {
      const HeldTransport::Message message = transport_.LetGo();
      const auto control = DecodeControl(message.bytes);
      const auto* reached = control.ok() ? control->body.AsShardReached() : nullptr;
      if (message.peer != kCoordinator || reached == nullptr) continue;
      const std::string how = reached->lost ? "lost " : reached->closed ? "closed " : "has ";
      reports.push_back(how + std::to_string(reached->node));
    }
    return reports;
  }
  void Lose(PeerId peer) {
    links_.OnLost(peer, Status::Unavailable("reset"));
    loop_.RunUntilTime(loop_.Now() + std::chrono::seconds(6));
  }

  static constexpr PeerId kCoordinator = 99;
  VirtualLoop loop_;
  Transport transport_;
  ParameterInbox parameters_{Slicing(4, 4)};
  int failed_ = 0;
  ShardLinks links_{
      {loop_, transport_, parameters_, Header(), {}, "server:1", 1, kCoordinator, 3, 3},
      {[] {}, [this](const Status&) { ++failed_; }}};
};

TEST_F(ShardLinksTest, ConnectOnceMoreBeforeTheyReportANode) {
  Lose(2);
  EXPECT_THAT(Reports(), ElementsAre("closed 1"));
  EXPECT_EQ(links_.Link(1), 3u);
  Lose(3);
  EXPECT_THAT(Reports(), ElementsAre("lost 1"));
  EXPECT_EQ(links_.Link(1), 0u);
  EXPECT_EQ(failed_, 0);
}

TEST_F(ShardLinksTest, ReportANodeThatTheyReachAgain) {
  Lose(2);
  links_.OnConnected(3, {});
  EXPECT_THAT(Reports(), ElementsAre("closed 1", "has 1"));
  loop_.RunUntilTime(loop_.Now() + std::chrono::seconds(60));
  EXPECT_THAT(Reports(), IsEmpty());
}

TEST_F(ShardLinksTest, WithdrawTheReportOfANodeThatHoldsNothing) {
  wire::ShardsT shards;
  shards.owners = {0};
  shards.addresses = {"a:1"};
  EXPECT_TRUE(links_.SetShards(shards).ok());
  EXPECT_THAT(Reports(), ElementsAre("closed 1"));
}

TEST_F(ShardLinksTest, LeaveTheJobWithoutTheOwnerOfAShard) {
  Lose(1);
  EXPECT_THAT(Reports(), ElementsAre("closed 0"));
  EXPECT_EQ(failed_, 1);
}

}  // namespace
}  // namespace motley
