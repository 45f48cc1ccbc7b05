// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker/executor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "tests/runtime/worker/executor_rig.h"

namespace motley {
namespace {

// The worker holds all the data, in two partitions.
class RowOrders : public ExecutorRig {
 protected:
  RowOrders() : ExecutorRig(2) {}

  void Order(StepId step, uint32_t order = 1) {
    EXPECT_TRUE(executor->Take(Row(step, order, {{0, 2, 1.0}})).ok());
  }
  std::vector<wire::AnswerEndT> Ends() const { return Said<wire::AnswerEndT>(); }
  size_t Slices(StepId step) const {
    size_t count = 0;
    for (const auto& [id, message] : transport.held) {
      const Header& header = message.header;
      count += header.kind == FrameKind::kGradient && header.step == step ? 1 : 0;
    }
    return count;
  }
};

TEST_F(RowOrders, StartsWhenParametersAndPartitionsAreThere) {
  Order(0);
  GivePartition(0);
  GiveParameters(0);
  Run();
  EXPECT_EQ(Slices(0), 0u);
  EXPECT_TRUE(Said<wire::ProgressT>().empty()) << "chunks must not depend on what came first";
  GivePartition(1);
  Run();
  EXPECT_EQ(Slices(0), 3u);  // 18 parameters in slices of 8.
  ASSERT_EQ(Ends().size(), 1u);
  EXPECT_TRUE(Ends()[0].finished);
  EXPECT_EQ(Ends()[0].samples, 200u);
  EXPECT_NEAR(Ends()[0].compute_ns * 1e-9, 0.2, 1e-3);
  EXPECT_EQ(Ends()[0].held_bytes, data.size_bytes() + 8);  // A second sparse index adds one end.
  // The end follows the slices.
  EXPECT_EQ(transport.held.rbegin()->second.header.kind, FrameKind::kControl);
}

TEST_F(RowOrders, TellsTheNormOfEachSliceItSends) {
  GivePartition(0);
  GivePartition(1);
  GiveParameters(0);
  executor->SetAnswerFilter([](StepId, std::span<float> sum) {
    for (float& value : sum) value = 2;
  });
  Order(0);
  Run();
  EXPECT_DOUBLE_EQ(transport.LetGo(FrameKind::kGradient).header.norm, std::sqrt(4.0 * 8));
  EXPECT_DOUBLE_EQ(transport.LetGo(FrameKind::kGradient).header.norm, std::sqrt(4.0 * 8));
  EXPECT_DOUBLE_EQ(transport.LetGo(FrameKind::kGradient).header.norm, std::sqrt(4.0 * 2));
}

TEST_F(RowOrders, ANewerStepSupersedesAnOlderOne) {
  GivePartition(0);
  GivePartition(1);
  GiveParameters(0);
  Order(0);
  loop.RunUntilTime(loop.Now() + kSampleTime * 50);
  Order(1);
  GiveParameters(1);
  Run();
  EXPECT_EQ(Slices(0), 0u);
  EXPECT_EQ(Slices(1), 3u);
  const std::vector<wire::AnswerEndT> ends = Ends();
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_EQ(ends[0].step, 0u);
  EXPECT_FALSE(ends[0].finished);
  EXPECT_LT(ends[0].samples, 200u);
  EXPECT_EQ(ends[1].step, 1u);
  EXPECT_TRUE(ends[1].finished);
}

TEST_F(RowOrders, RowsOfOneStepAreDoneInTurn) {
  GivePartition(0);
  GivePartition(1);
  GiveParameters(0);
  Order(0, 3);
  Order(0, 5);
  Run();
  ASSERT_EQ(Ends().size(), 2u);
  EXPECT_EQ(Ends()[0].order, 3u);
  EXPECT_EQ(Ends()[1].order, 5u);
  EXPECT_TRUE(Ends()[0].finished && Ends()[1].finished);
}

TEST_F(RowOrders, AVectorOnItsWayIsNotWrittenTo) {
  GivePartition(0);
  GivePartition(1);
  GiveParameters(0);
  for (uint32_t order = 1; order < 4; ++order) Order(0, order);
  Run();
  EXPECT_EQ(Ends().size(), 2u);  // There are two vectors; the third row waits for one of them.
  for (int slice = 0; slice < 3; ++slice) transport.LetGo(FrameKind::kGradient);
  Run();
  EXPECT_EQ(Ends().size(), 3u);
}

TEST_F(RowOrders, CancelTakesBackSlicesThatHaveNotLeftButNotTheEnd) {
  GivePartition(0);
  GivePartition(1);
  GiveParameters(4);
  Order(4);
  Run();
  EXPECT_EQ(Slices(4), 3u);
  transport.LetGo(FrameKind::kGradient);
  executor->Cancel(3, 0);
  EXPECT_EQ(Slices(4), 2u);
  executor->Cancel(4, 0);
  EXPECT_EQ(Slices(4), 0u);
  EXPECT_EQ(Ends().size(), 1u);
  executor->Cancel(4, 0);
  EXPECT_EQ(Ends().size(), 1u);  // An order ends once.
}

TEST_F(RowOrders, ACancelledRowIsLeftOutOfTheQueueAndTheOthersStay) {
  GivePartition(0);
  GivePartition(1);
  GiveParameters(0);
  for (uint32_t order = 1; order < 5; ++order) Order(0, order);
  executor->Cancel(0, 3);
  executor->Cancel(7, 4);  // This order of step 7 does not exist.
  loop.RunUntilTime(loop.Now() + kSampleTime * 250);
  executor->Cancel(0, 2);  // The order is being computed.
  Run();
  const std::vector<wire::AnswerEndT> ends = Ends();
  ASSERT_EQ(ends.size(), 4u) << "each ends with a message, in order";
  for (uint32_t i = 0; i < 4; ++i) EXPECT_EQ(ends[i].order, i + 1);
  EXPECT_TRUE(ends[0].finished);
  EXPECT_FALSE(ends[1].finished);
  EXPECT_GT(ends[1].samples, 0u);
  EXPECT_LT(ends[1].samples, 200u);
  EXPECT_FALSE(ends[2].finished);
  EXPECT_EQ(ends[2].samples, 0u);
  EXPECT_TRUE(ends[3].finished);
  EXPECT_EQ(Slices(0), 6u);
}

TEST_F(RowOrders, CancelOfARowTakesBackItsSlicesAlone) {
  GivePartition(0);
  GivePartition(1);
  GiveParameters(0);
  Order(0, 1);
  Order(0, 2);
  Run();
  EXPECT_EQ(Slices(0), 6u);
  executor->Cancel(0, 1);
  EXPECT_EQ(Slices(0), 3u);
  for (const auto& [id, message] : transport.held) {
    if (message.header.kind != FrameKind::kGradient) continue;
    EXPECT_EQ(message.header.row_id, 2u);
  }
}

TEST_F(RowOrders, OnceStoppedItComputesAndSendsNothing) {
  GivePartition(0);
  GivePartition(1);
  GiveParameters(0);
  Order(0, 1);
  Run();
  EXPECT_EQ(Slices(0), 3u);
  Order(0, 2);
  Order(0, 3);
  loop.RunUntilTime(loop.Now() + kSampleTime * 20);
  const size_t sent = transport.sent.size();
  executor->Stop();
  EXPECT_EQ(Slices(0), 0u);
  Order(0, 4);
  executor->Advance();
  Run();
  EXPECT_EQ(transport.sent.size(), sent);
  EXPECT_FALSE(failed);
}

TEST_F(RowOrders, TellsProgressOfALongRow) {
  GivePartition(0);
  GivePartition(1);
  GiveParameters(0);
  Order(0);
  Run();
  size_t told = 0;
  for (const auto& [id, message] : transport.held) {
    if (message.header.kind != FrameKind::kControl) continue;
    const auto control = DecodeControl(message.bytes).value();
    const wire::ProgressT* progress = control.body.AsProgress();
    if (progress == nullptr) continue;
    ++told;
    EXPECT_GT(progress->samples, 0u);
    EXPECT_LT(progress->samples, 200u);
  }
  EXPECT_GE(told, 1u);
  EXPECT_LE(told, 4u);  // 200 ms in all, with reports at least 50 ms apart.
}

TEST_F(RowOrders, RefusesMoreOrdersThanAnyServerGives) {
  for (int i = 0; i < 1024; ++i) Order(0);
  EXPECT_EQ(executor->Take(Row(0, 1, {})).code(), StatusCode::kDataError);
}

}  // namespace
}  // namespace motley
