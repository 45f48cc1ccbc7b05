// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker/work_desk.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "tests/runtime/worker/desk_rig.h"

namespace motley {
namespace {

// Holds all the data, in two partitions.
class Desk : public DeskRig {
 protected:
  Desk() : DeskRig(2) {}

  void Assign(StepId step, RowId row = 0) {
    EXPECT_TRUE(desk->Assign({step, step, row, {{0, 2, 1.0}}}).ok());
  }
  std::vector<wire::PullT> Pulls() const { return Said<wire::PullT>(); }
  size_t Slices(StepId step) const {
    size_t count = 0;
    for (const auto& [id, message] : transport.held) {
      const Header& header = message.header;
      count += header.kind == FrameKind::kGradient && header.step == step ? 1 : 0;
    }
    return count;
  }
};

TEST_F(Desk, StartsWhenParametersAndPartitionsAreThere) {
  Assign(0);
  GivePartition(0);
  GiveParameters(0);
  Run();
  EXPECT_EQ(Slices(0), 0u);
  GivePartition(1);
  Run();
  EXPECT_EQ(Slices(0), 3u);  // 18 parameters in slices of 8.
  ASSERT_EQ(Pulls().size(), 1u);
  EXPECT_TRUE(Pulls()[0].finished);
  EXPECT_EQ(Pulls()[0].samples, 200u);
  EXPECT_NEAR(Pulls()[0].compute_ns * 1e-9, 0.2, 1e-3);
  EXPECT_EQ(Pulls()[0].held_bytes, data.size_bytes() + 8);  // One more sparse index's end.
  // The Pull comes behind the slices.
  EXPECT_EQ(transport.held.rbegin()->second.header.kind, FrameKind::kControl);
}

TEST_F(Desk, TellsTheNormOfEachSliceItSends) {
  GivePartition(0);
  GivePartition(1);
  GiveParameters(0);
  desk->SetAnswerFilter([](StepId, std::span<float> sum) {
    for (float& value : sum) value = 2;
  });
  Assign(0);
  Run();
  EXPECT_DOUBLE_EQ(transport.LetGo(FrameKind::kGradient).header.norm, std::sqrt(4.0 * 8));
  EXPECT_DOUBLE_EQ(transport.LetGo(FrameKind::kGradient).header.norm, std::sqrt(4.0 * 8));
  EXPECT_DOUBLE_EQ(transport.LetGo(FrameKind::kGradient).header.norm, std::sqrt(4.0 * 2));
}

TEST_F(Desk, ANewerStepSupersedesAnOlderOne) {
  GivePartition(0);
  GivePartition(1);
  GiveParameters(0);
  Assign(0);
  loop.RunUntilTime(loop.Now() + kSampleTime * 50);
  Assign(1);
  GiveParameters(1);
  Run();
  EXPECT_EQ(Slices(0), 0u);
  EXPECT_EQ(Slices(1), 3u);
  const std::vector<wire::PullT> pulls = Pulls();
  ASSERT_EQ(pulls.size(), 2u);
  EXPECT_EQ(pulls[0].step, 0u);
  EXPECT_FALSE(pulls[0].finished);
  EXPECT_LT(pulls[0].samples, 200u);
  EXPECT_EQ(pulls[1].step, 1u);
  EXPECT_TRUE(pulls[1].finished);
}

TEST_F(Desk, RowsOfOneStepAreDoneInTurn) {
  GivePartition(0);
  GivePartition(1);
  GiveParameters(0);
  Assign(0, 3);
  Assign(0, 5);
  Run();
  ASSERT_EQ(Pulls().size(), 2u);
  EXPECT_EQ(Pulls()[0].row, 3u);
  EXPECT_EQ(Pulls()[1].row, 5u);
  EXPECT_TRUE(Pulls()[0].finished && Pulls()[1].finished);
}

TEST_F(Desk, AVectorOnItsWayIsNotWrittenTo) {
  GivePartition(0);
  GivePartition(1);
  GiveParameters(0);
  for (RowId row = 0; row < 3; ++row) Assign(0, row);
  Run();
  EXPECT_EQ(Pulls().size(), 2u);  // Two vectors; the third row waits for one of them.
  for (int slice = 0; slice < 3; ++slice) transport.LetGo(FrameKind::kGradient);
  Run();
  EXPECT_EQ(Pulls().size(), 3u);
}

TEST_F(Desk, CancelTakesBackSlicesThatHaveNotLeftButNotThePull) {
  GivePartition(0);
  GivePartition(1);
  GiveParameters(4);
  Assign(4);
  Run();
  EXPECT_EQ(Slices(4), 3u);
  transport.LetGo(FrameKind::kGradient);
  desk->Cancel(3);
  EXPECT_EQ(Slices(4), 2u);
  desk->Cancel(4);
  EXPECT_EQ(Slices(4), 0u);
  EXPECT_EQ(Pulls().size(), 1u);
  desk->Cancel(4);
  EXPECT_EQ(Pulls().size(), 1u);  // An assignment ends once.
}

TEST_F(Desk, ACancelledRowIsLeftOutOfTheQueueAndTheOthersStay) {
  GivePartition(0);
  GivePartition(1);
  GiveParameters(0);
  for (RowId row = 0; row < 4; ++row) Assign(0, row);
  desk->CancelRow(0, 2);
  desk->CancelRow(7, 3);  // Of another step: not this one.
  loop.RunUntilTime(loop.Now() + kSampleTime * 250);
  desk->CancelRow(0, 1);  // It is at it.
  Run();
  const std::vector<wire::PullT> pulls = Pulls();
  ASSERT_EQ(pulls.size(), 4u) << "each ends with a word, in order";
  for (RowId row = 0; row < 4; ++row) EXPECT_EQ(pulls[row].row, row);
  EXPECT_TRUE(pulls[0].finished);
  EXPECT_FALSE(pulls[1].finished);
  EXPECT_GT(pulls[1].samples, 0u);
  EXPECT_LT(pulls[1].samples, 200u);
  EXPECT_FALSE(pulls[2].finished);
  EXPECT_EQ(pulls[2].samples, 0u);
  EXPECT_TRUE(pulls[3].finished);
  EXPECT_EQ(Slices(0), 6u);
}

TEST_F(Desk, CancelOfARowTakesBackItsSlicesAlone) {
  GivePartition(0);
  GivePartition(1);
  GiveParameters(0);
  Assign(0, 0);
  Assign(0, 1);
  Run();
  EXPECT_EQ(Slices(0), 6u);
  desk->CancelRow(0, 0);
  EXPECT_EQ(Slices(0), 3u);
  for (const auto& [id, message] : transport.held) {
    if (message.header.kind != FrameKind::kGradient) continue;
    EXPECT_EQ(message.header.row_id, 1u);
  }
}

TEST_F(Desk, OnceStoppedItComputesAndSendsNothing) {
  GivePartition(0);
  GivePartition(1);
  GiveParameters(0);
  Assign(0, 0);
  Run();
  EXPECT_EQ(Slices(0), 3u);
  Assign(0, 1);
  Assign(0, 2);
  loop.RunUntilTime(loop.Now() + kSampleTime * 20);
  const size_t sent = transport.sent.size();
  desk->Stop();
  EXPECT_EQ(Slices(0), 0u);
  Assign(0, 3);
  desk->Advance();
  Run();
  EXPECT_EQ(transport.sent.size(), sent);
  EXPECT_FALSE(failed);
}

TEST_F(Desk, TellsProgressOfALongRow) {
  GivePartition(0);
  GivePartition(1);
  GiveParameters(0);
  Assign(0);
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
  EXPECT_LE(told, 4u);  // 200 ms in all, and not more often than every 50.
}

TEST_F(Desk, RefusesMoreAssignmentsThanAnyServerGives) {
  for (int i = 0; i < 1024; ++i) Assign(0);
  EXPECT_EQ(desk->Assign({0, 0, 0, {}}).code(), StatusCode::kDataError);
}

}  // namespace
}  // namespace motley
