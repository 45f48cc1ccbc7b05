// SPDX-License-Identifier: Apache-2.0
#include "runtime/shard/shard_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "base/loop/virtual_loop.h"
#include "coding/form_bytes.h"
#include "devices/forwarding_device.h"
#include "devices/paced_device.h"
#include "runtime/links/messages.h"
#include "tests/runtime/held_transport.h"

namespace motley {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr PeerId kCoordinator = 7;

// Keeps the work of its queue until the test wants it done.
class SlowDevice : public ForwardingDevice<> {
 public:
  using ForwardingDevice::ForwardingDevice;

  void Submit(double, Work work, Done done) override {
    work_ = std::move(work);
    done_ = std::move(done);
  }
  void GoOn() { done_(work_()); }

 private:
  Work work_;
  Done done_;
};

class ShardHostTest : public testing::Test {
 protected:
  ShardHostTest() : inner_(std::move(MakeInlineDevice(loop_)).value()), device_(*inner_) {}

  static ShardHost::Job Job() {
    ShardHost::Job job{.token = "secret", .route = Route(4, 1)};
    job.workers = job.places = 2;
    job.partitions = 3;
    job.slice_length = 4;
    return job;
  }
  template <typename Message>
  void Hear(const Message& message) {
    const auto control = DecodeControl(EncodeControl(message));
    ASSERT_TRUE(control.ok());
    const Result<bool> taken = host_.OnMessage(*control);
    ASSERT_TRUE(taken.ok()) << taken.status().ToString();
  }
  // The rollbacks in the answers to ShardHold since the last call.
  std::vector<uint32_t> Answers() {
    std::vector<uint32_t> rollbacks;
    while (!transport_.held.empty()) {
      const auto control = DecodeControl(transport_.LetGo().bytes);
      const auto* held = control.ok() ? control->body.AsShardHeld() : nullptr;
      if (held != nullptr) rollbacks.push_back(held->rollbacks);
    }
    return rollbacks;
  }

  // The epochs in the same answers.
  std::vector<uint32_t> Epochs() {
    std::vector<uint32_t> epochs;
    while (!transport_.held.empty()) {
      const auto control = DecodeControl(transport_.LetGo().bytes);
      const auto* held = control.ok() ? control->body.AsShardHeld() : nullptr;
      if (held != nullptr) epochs.push_back(held->epoch);
    }
    return epochs;
  }

  // Sends the values of shard 0, which this node owns alone.
  void Hold() {
    hold_.known = false;
    SetOptimizer(hold_, {.name = "sgd"});
    hold_.epoch = 1;
    hold_.owner = true;
    hold_.reads = true;
    Hear(hold_);
    Header state;
    state.total = 4;
    state.length = 4 * sizeof(float);
    ASSERT_TRUE(host_.BeginState(state).ok());
    ASSERT_TRUE(host_.FinishState(state).ok());
    hold_.known = true;
  }
  // Opens update 0, in which lists add up to nothing, and has it applied.
  void Apply() {
    wire::ShardOpenT open;
    open.attempt = 1;
    open.lists = true;
    Hear(open);
    wire::ShardFinishT finish;
    finish.attempt = 1;
    Hear(finish);
    wire::ShardApplyT apply;
    apply.attempt = 1;
    apply.weight = 0;
    Hear(apply);
  }

  // A frame from another worker.
  void Receive(PeerId peer, Header header, BytesView bytes) {
    header.length = static_cast<uint32_t>(bytes.size());
    const std::span<std::byte> room = host_.OnPayload(peer, header);
    ASSERT_EQ(room.size(), bytes.size());
    std::copy(bytes.begin(), bytes.end(), room.begin());
    host_.OnPayloadDone(peer, header, /*discarded=*/false);
  }
  // Worker 1 joins in this incarnation.
  void Join(PeerId peer, Incarnation incarnation) {
    host_.OnConnected(peer, {});
    wire::ShardJoinT join;
    join.token = "secret";
    join.worker = 1;
    join.incarnation = incarnation;
    Header header;
    header.kind = FrameKind::kControl;
    Receive(peer, header, EncodeControl(join));
  }
  // It answers a row with zeros.
  void Answer(PeerId peer, Incarnation incarnation, RowId row) {
    Header header;
    header.kind = FrameKind::kGradient;
    header.incarnation = incarnation;
    header.attempt = 1;
    header.row = row;
    header.row_id = row + 1;
    header.total = 4;
    Receive(peer, header, Bytes(4 * sizeof(float)));
  }

  VirtualLoop loop_;
  HeldTransport transport_;
  std::unique_ptr<Device> inner_;
  SlowDevice device_;
  LinkLoad load_{loop_, transport_};
  wire::ShardHoldT hold_;
  ShardHost host_{
      {loop_, transport_, device_, kCoordinator, Header(), [](WorkerId) { return PeerId{0}; },
       load_, [](const Status& why) { ADD_FAILURE() << why.ToString(); }},
      Job()};
};

// The coordinator takes a node that does not answer for lost.
TEST_F(ShardHostTest, AnswersWhileTheUpdateThatIsTakenBackIsApplied) {
  Hold();
  EXPECT_THAT(Answers(), ElementsAre(0));
  Apply();
  hold_.rollbacks = 1;
  hold_.version = 0;
  Hear(hold_);
  EXPECT_THAT(Answers(), ElementsAre(0)) << "it is there, but did not go back yet";
  Hear(hold_);
  EXPECT_THAT(Answers(), ElementsAre(0)) << "it was asked";
  device_.GoOn();
  EXPECT_THAT(Answers(), ElementsAre(1));
}

// Versions of shard 0 that were sent to this peer since the last call.
std::vector<uint64_t> Published(HeldTransport& transport, PeerId peer) {
  std::vector<uint64_t> versions;
  while (!transport.held.empty()) {
    const HeldTransport::Message message = transport.LetGo();
    const bool values = message.header.kind == FrameKind::kParameters && message.peer == peer;
    if (values) versions.push_back(message.header.version);
  }
  return versions;
}

// A follower that reads has no values at first. It follows from the version on that it reads next.
TEST_F(ShardHostTest, FollowsFromWhatItReads) {
  SetOptimizer(hold_, {.name = "sgd"});
  hold_.known = false;
  hold_.epoch = 1;
  hold_.owner = false;
  hold_.reads = hold_.from_reading = true;
  hold_.version = 3;
  hold_.optimizer_steps = 2;
  Hear(hold_);
  EXPECT_THAT(Answers(), IsEmpty()) << "it holds nothing yet";
  ASSERT_TRUE(host_.Read(0, 7, std::vector<float>{1, 2, 3, 4}).ok());
  EXPECT_THAT(Answers(), ElementsAre(0));
  ASSERT_TRUE(host_.Read(0, 9, std::vector<float>{5, 6, 7, 8}).ok()) << "nobody waited for it";
  ASSERT_TRUE(host_.Read(0, 8, std::vector<float>{0, 0, 0, 0}).ok());
  hold_.known = true;
  hold_.owner = true;
  hold_.epoch = 2;
  Hear(hold_);
  wire::ShardFetchT fetch;
  fetch.id = 1;
  Answers();
  Hear(fetch);
  const HeldTransport::Message sent = transport_.LetGo(FrameKind::kShardState);
  EXPECT_EQ(sent.header.version, 9u);
  EXPECT_EQ(sent.header.step, 8u) << "steps of the optimizer";
  std::vector<float> values(4);
  std::memcpy(values.data(), sent.bytes.data(), sent.bytes.size());
  EXPECT_THAT(values, ElementsAre(5, 6, 7, 8));
}

TEST_F(ShardHostTest, GoesBackToNothingIfItsFirstValuesAreTakenBack) {
  SetOptimizer(hold_, {.name = "sgd"});
  hold_.known = false;
  hold_.epoch = 1;
  hold_.reads = hold_.from_reading = true;
  Hear(hold_);
  ASSERT_TRUE(host_.Read(0, 7, std::vector<float>{1, 2, 3, 4}).ok());
  Answers();
  hold_.known = true;
  hold_.rollbacks = 1;
  hold_.version = 6;
  Hear(hold_);
  const auto control = DecodeControl(transport_.LetGo().bytes);
  ASSERT_TRUE(control.ok());
  ASSERT_NE(control->body.AsShardHeld(), nullptr);
  EXPECT_TRUE(control->body.AsShardHeld()->comes);
  EXPECT_EQ(control->body.AsShardHeld()->rollbacks, 1u);
  ASSERT_TRUE(host_.Read(0, 6, std::vector<float>{4, 3, 2, 1}).ok());
  EXPECT_THAT(Answers(), ElementsAre(1));
}

// The coordinator waits for this node's answer before it opens an update, because a new owner's sum
// that comes before the node knows that it follows is lost.
TEST_F(ShardHostTest, TakesSumsOfTheNextOwnerOnceItFollows) {
  Hold();
  Join(/*peer=*/3, /*incarnation=*/10);
  Header sum;
  sum.kind = FrameKind::kShardSum;
  sum.incarnation = 10;
  sum.attempt = 1;
  sum.total = 4;
  sum.length = 4 * sizeof(float);
  EXPECT_TRUE(host_.OnPayload(3, sum).empty());
  hold_.reads = false;
  hold_.owner = false;
  hold_.handed_over = true;
  hold_.epoch = 2;
  Answers();
  Hear(hold_);
  EXPECT_THAT(Epochs(), ElementsAre(2));
  Receive(3, sum, Bytes(4 * sizeof(float)));
  const auto control = DecodeControl(transport_.LetGo().bytes);
  ASSERT_TRUE(control.ok());
  EXPECT_NE(control->body.AsShardSafe(), nullptr);
}

TEST_F(ShardHostTest, ReadsVersionsOfTheNextOwnerOnceItFollows) {
  Hold();
  const std::vector<float> values{1, 2, 3, 4};
  Answers();
  ASSERT_TRUE(host_.Read(0, 1, values).ok());
  EXPECT_TRUE(transport_.held.empty()) << "owners make their versions";
  hold_.owner = false;
  hold_.handed_over = true;
  hold_.epoch = 2;
  Hear(hold_);
  EXPECT_THAT(Epochs(), ElementsAre(2));
  ASSERT_TRUE(host_.Read(0, 1, values).ok());
  const auto control = DecodeControl(transport_.LetGo().bytes);
  ASSERT_TRUE(control.ok());
  EXPECT_NE(control->body.AsShardApplied(), nullptr);
}

// The owner before has sent the newest values to most workers. Those that lack them say so.
TEST_F(ShardHostTest, SendsWhatWorkersLackIfAShardIsHandedOver) {
  Hold();
  hold_.owner = false;
  hold_.epoch = 2;
  Hear(hold_);
  Join(/*peer=*/3, /*incarnation=*/10);
  EXPECT_THAT(Published(transport_, 3), IsEmpty());
  hold_.owner = hold_.handed_over = true;
  hold_.epoch = 3;
  Hear(hold_);
  EXPECT_THAT(Published(transport_, 3), IsEmpty());
  wire::ShardNeedT need;
  need.version = 1;
  Header header;
  header.kind = FrameKind::kControl;
  Receive(3, header, EncodeControl(need));
  EXPECT_THAT(Published(transport_, 3), IsEmpty()) << "there is no newer version yet";
  need.version = 0;
  Receive(3, header, EncodeControl(need));
  EXPECT_THAT(Published(transport_, 3), ElementsAre(0));
  Receive(3, header, EncodeControl(need));
  EXPECT_THAT(Published(transport_, 3), IsEmpty()) << "once is enough";
  Join(/*peer=*/4, /*incarnation=*/11);
  EXPECT_THAT(Published(transport_, 4), ElementsAre(0)) << "it knows no owner before";
}

TEST_F(ShardHostTest, DropsOneShard) {
  Hold();
  wire::ShardDropT drop;
  drop.one = true;
  drop.shard = 1;
  Hear(drop);
  Answers();
  Hear(hold_);
  EXPECT_THAT(Answers(), ElementsAre(0));
  drop.shard = 0;
  Hear(drop);
  EXPECT_FALSE(host_.OnMessage(*DecodeControl(EncodeControl(hold_))).ok()) << "it is not there";
}

// With multi-message, a worker gives several rows in one step. All of them may come before the
// coordinator's message, if this node has stood still.
TEST_F(ShardHostTest, TakesAllRowsOfAWorkerBeforeTheUpdateOpens) {
  Hold();
  Join(/*peer=*/3, /*incarnation=*/10);
  for (const RowId row : {0, 1, 2}) Answer(/*peer=*/3, /*incarnation=*/10, row);
  CodeForm form;
  form.workers = form.partitions = 3;
  form.rows = {{{0, 1}}, {{1, 1}}, {{2, 1}}};
  wire::ShardOpenT open;
  open.attempt = 1;
  const Bytes code = EncodeForm(form);
  const auto* bytes = reinterpret_cast<const uint8_t*>(code.data());
  open.code.assign(bytes, bytes + code.size());
  Answers();
  Hear(open);
  int rows = 0, sums = 0;
  while (!transport_.held.empty()) {
    const auto control = DecodeControl(transport_.LetGo().bytes);
    if (!control.ok()) continue;
    rows += control->body.AsShardRow() != nullptr;
    sums += control->body.AsShardSummed() != nullptr;
  }
  EXPECT_EQ(rows, 3);
  EXPECT_EQ(sums, 1);
}

// The coordinator blames the incarnation that was there when the step began.
TEST_F(ShardHostTest, ReportsNoWholeLogIfAWorkerCameBackWithinTheStep) {
  Hold();
  CodeForm form;
  form.workers = 2;
  form.partitions = 3;
  form.rows = {{{0, 1}}, {{1, 1}, {2, 1}}};
  wire::ShardOpenT open;
  open.attempt = 1;
  open.signs = 5;
  const Bytes code = EncodeForm(form);
  const auto* bytes = reinterpret_cast<const uint8_t*>(code.data());
  open.code.assign(bytes, bytes + code.size());
  Hear(open);
  Join(/*peer=*/3, /*incarnation=*/10);
  Answer(/*peer=*/3, /*incarnation=*/10, /*row=*/1);
  wire::ShardGoneT gone;
  gone.worker = 1;
  gone.incarnation = 10;
  Hear(gone);
  Join(/*peer=*/4, /*incarnation=*/11);
  Answer(/*peer=*/4, /*incarnation=*/11, /*row=*/0);
  wire::ShardFetchT fetch;
  fetch.id = 2;
  fetch.log = true;
  Hear(fetch);
  int logs = 0;
  while (!transport_.held.empty()) {
    const auto control = DecodeControl(transport_.LetGo().bytes);
    const auto* log = control.ok() ? control->body.AsShardLog() : nullptr;
    if (log == nullptr) continue;
    ++logs;
    EXPECT_FALSE(log->complete) << "the sum has answers of both, and the audit knows one of them";
  }
  EXPECT_EQ(logs, 1);
}

}  // namespace
}  // namespace motley
