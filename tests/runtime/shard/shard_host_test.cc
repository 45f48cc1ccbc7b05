// SPDX-License-Identifier: Apache-2.0
#include "runtime/shard/shard_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
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
