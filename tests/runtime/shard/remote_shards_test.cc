// SPDX-License-Identifier: Apache-2.0
// Two workers own a shard each, and follow that of the other one.
#include "runtime/shard/remote_shards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
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
    hooks.left = [](WorkerId, notice::ShardsMoved::Why) {};
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

// Three workers own a shard each. Worker 2 is there, and takes long for each of its sums.
class SlowOwnerTest : public testing::Test {
 protected:
  explicit SlowOwnerTest(uint32_t followers = 1) {
    RemoteShards::Setup setup{Route(12, 3), 4, {.name = "momentum"}};
    setup.workers = setup.places = 3;
    setup.followers = followers;
    RemoteShards::Hooks hooks;
    hooks.node = [](WorkerId worker) { return LinkLoad::To{worker + 1, Header()}; };
    hooks.placed = [] {};
    hooks.progress = [] {};
    hooks.left = [](WorkerId node, notice::ShardsMoved::Why why) {
      EXPECT_EQ(node, 2u);
      EXPECT_EQ(why, notice::ShardsMoved::Why::kSlow);
    };
    hooks.moved = [this](const notice::ShardsMoved& moved) {
      EXPECT_EQ(moved.why, notice::ShardsMoved::Why::kSlow);
      for (const auto& [shard, owner] : moved.owners) moved_.push_back({moved.lost, shard, owner});
    };
    shards_.emplace(loop_, transport_, setup, hooks);
    ShardState state;
    state.parameters = std::make_shared<std::vector<float>>(12);
    state.arrays = std::make_shared<std::vector<float>>(12);
    shards_->Place({0, 1, 2}, {{0, "a"}, {1, "b"}, {2, "c"}}, state);
    for (const WorkerId worker : {0, 1, 2}) Answer(worker);
    EXPECT_TRUE(shards_->placed());
  }

  template <typename Message>
  void Say(WorkerId worker, const Message& message) {
    const auto control = DecodeControl(EncodeControl(message));
    ASSERT_TRUE(control.ok());
    const Result<bool> taken = shards_->OnMessage(worker, *control);
    ASSERT_TRUE(taken.ok()) << taken.status().ToString();
  }
  void Answer(WorkerId worker) {
    for (const uint32_t shard : {0, 1, 2}) {
      wire::ShardHeldT held;
      held.shard = shard;
      held.epoch = 1;
      Say(worker, held);
    }
  }
  void Sum(StepId step, WorkerId owner) {
    wire::ShardSummedT sum;
    sum.shard = owner;
    sum.step = step;
    sum.attempt = 1;
    sum.loss = std::make_unique<wire::Weight>();
    sum.weight = std::make_unique<wire::Weight>();
    Say(owner, sum);
  }
  // Worker 2 has its sum so much later than the others.
  void Update(StepId step, Duration later) {
    ASSERT_TRUE(shards_->Open({step, step}, 1, nullptr).ok());
    bool ended = false, applied = false;
    shards_->EndSum(/*approximately=*/false, [&ended](const auto&) { ended = true; });
    loop_.RunUntilTime(loop_.Now() + std::chrono::seconds(1));
    Sum(step, 0);
    Sum(step, 1);
    for (Duration time{}; time < later; time += kMoment) {
      loop_.RunUntilTime(loop_.Now() + kMoment);
      Answer(2);
    }
    Sum(step, 2);
    for (const uint32_t shard : {0, 1, 2}) {
      wire::ShardSafeT safe;
      safe.shard = shard;
      safe.step = step;
      safe.attempt = 1;
      for (const WorkerId follower : {0, 1, 2}) Say(follower, safe);
    }
    ASSERT_TRUE(ended);
    shards_->Apply({}, [&applied](const Status& status) { applied = status.ok(); });
    for (const uint32_t shard : {0, 1, 2}) {
      wire::ShardAppliedT message;
      message.shard = shard;
      message.step = step;
      message.finite = true;
      for (const WorkerId worker : {0, 1, 2}) Say(worker, message);
    }
    ASSERT_TRUE(applied);
  }

  struct Moved {
    WorkerId from;
    uint32_t shard;
    WorkerId to;
    bool operator==(const Moved&) const = default;
  };
  static constexpr Duration kMoment = std::chrono::milliseconds(50);
  VirtualLoop loop_;
  HeldTransport transport_;
  std::vector<Moved> moved_;
  std::optional<RemoteShards> shards_;
};

TEST_F(SlowOwnerTest, GivesItsShardsAway) {
  // An update counts when the next one begins.
  for (StepId step = 0; step < 5; ++step) {
    EXPECT_THAT(moved_, testing::IsEmpty());
    Update(step, std::chrono::milliseconds(500));
    ASSERT_TRUE(shards_->placed());
    shards_->Arrange();
  }
  EXPECT_THAT(moved_, testing::ElementsAre(Moved{2, 2, 0}));
}

TEST_F(SlowOwnerTest, KeepsThemIfItIsLittleSlower) {
  for (StepId step = 0; step < 6; ++step) {
    Update(step, std::chrono::milliseconds(150));
    shards_->Arrange();
  }
  EXPECT_THAT(moved_, testing::IsEmpty());
}

class SlowOwnerOfFewTest : public SlowOwnerTest {
 protected:
  SlowOwnerOfFewTest() : SlowOwnerTest(2) {}
};

TEST_F(SlowOwnerOfFewTest, KeepsThemIfTheOthersAreTooFewToFollow) {
  for (StepId step = 0; step < 6; ++step) {
    Update(step, std::chrono::milliseconds(500));
    shards_->Arrange();
  }
  EXPECT_THAT(moved_, testing::IsEmpty());
}

}  // namespace
}  // namespace motley
