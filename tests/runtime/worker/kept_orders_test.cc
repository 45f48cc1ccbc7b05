// SPDX-License-Identifier: Apache-2.0
// Orders that a worker keeps, and orders that are put together from them.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "runtime/memory_need.h"
#include "tests/runtime/worker/executor_rig.h"

namespace motley {
namespace {

// Four partitions with 50 samples each in a batch.
class KeptOrders : public ExecutorRig {
 protected:
  KeptOrders() : ExecutorRig(4) {
    for (PartitionId p = 0; p < 4; ++p) GivePartition(p);
    GiveParameters(0);
  }

  // Row r is order r + 1.
  void Keep(RowId row, PartitionId begin, PartitionId end, StepId step = 0) {
    WorkOrder::What what = Row(step, row + 1, {{begin, end, 1.0, {}}});
    what.keep = true;
    EXPECT_TRUE(executor->Take(std::move(what)).ok());
  }
  void Ask(RowId row, std::vector<PartitionTerm> terms, uint32_t parts = 1, StepId step = 0) {
    EXPECT_TRUE(executor->Take(Row(step, row + 1, std::move(terms), parts)).ok());
  }
  // The values that were sent for a row, slice by slice.
  std::vector<float> Answer(RowId row) const {
    std::vector<float> values;
    for (const auto& [id, message] : transport.held) {
      if (message.header.kind != FrameKind::kGradient || message.header.row_id != row + 1) continue;
      const size_t at = values.size();
      values.resize(at + message.bytes.size() / sizeof(float));
      std::memcpy(values.data() + at, message.bytes.data(), message.bytes.size());
    }
    return values;
  }
  // The tally that its slices declare.
  Tally TallyOf(RowId row) const {
    Tally tally;
    for (const auto& [id, message] : transport.held) {
      const bool slice = message.header.kind == FrameKind::kGradient;
      if (slice && message.header.row_id == row + 1) tally = message.header.tally;
    }
    return tally;
  }
  static void ExpectNear(const Tally& got, const Tally& wanted) {
    EXPECT_LE(std::abs(got.loss - wanted.loss), 1e-6 * std::abs(wanted.loss));
    EXPECT_LE(std::abs(got.weight - wanted.weight), 1e-12 * std::abs(wanted.weight));
  }
  void LetAllGo() {
    while (!transport.held.empty()) transport.LetGo();
  }
  uint64_t SamplesOfLast() const { return Said<wire::AnswerEndT>().back().samples; }
};

TEST_F(KeptOrders, WhatIsKeptIsNotSentAndNotComputedAgain) {
  Ask(0, {{0, 4, 1.0, {}}});
  Run();
  const std::vector<float> whole = Answer(0);
  ASSERT_EQ(whole.size(), 18u);
  const Tally tally = TallyOf(0);
  EXPECT_EQ(tally.weight, 200.0);
  EXPECT_GT(tally.loss.real(), 0);
  Keep(1, 0, 2);
  Keep(2, 2, 3);
  Run();
  EXPECT_TRUE(Answer(1).empty() && Answer(2).empty());
  ASSERT_EQ(Said<wire::AnswerEndT>().size(), 3u);
  EXPECT_TRUE(Said<wire::AnswerEndT>()[1].finished && Said<wire::AnswerEndT>()[2].finished);
  EXPECT_EQ(Said<wire::AnswerEndT>()[1].samples, 100u);
  LetAllGo();
  Ask(3, {{0, 4, 1.0, {}}});
  Run();
  EXPECT_EQ(SamplesOfLast(), 50u) << "only the partition that is not kept";
  const std::vector<float> again = Answer(3);
  ASSERT_EQ(again.size(), whole.size());
  for (size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(again[i], whole[i], 1e-4);
  ExpectNear(TallyOf(3), tally);
}

TEST_F(KeptOrders, ARowOfPartsHasItsSharesOfEach) {
  const std::vector<PartitionTerm> terms = {{0, 2, 2.0, {0.5}}, {2, 4, -1.0, {3.0}}};
  Ask(0, terms, 2);
  Run();
  const std::vector<float> computed = Answer(0);
  ASSERT_EQ(computed.size(), 10u);
  const Tally tally = TallyOf(0);
  EXPECT_EQ(tally.weight, 2.0 * 100 - 1.0 * 100) << "with the coefficients of the first part";
  Keep(1, 0, 2);
  Keep(2, 2, 4);
  Run();
  LetAllGo();
  Ask(3, terms, 2);
  Run();
  EXPECT_EQ(SamplesOfLast(), 0u);
  const std::vector<float> again = Answer(3);
  ASSERT_EQ(again.size(), computed.size());
  for (size_t i = 0; i < computed.size(); ++i) EXPECT_NEAR(again[i], computed[i], 1e-4);
  ExpectNear(TallyOf(3), tally);
}

// A row with a part of a kept run only, or of another version, is computed.
TEST_F(KeptOrders, OnlyWholeRunsOfTheSameParametersCount) {
  Keep(1, 0, 2);
  Run();
  Ask(2, {{1, 3, 1.0, {}}});
  Run();
  EXPECT_EQ(SamplesOfLast(), 100u);
  GiveParameters(1);
  Ask(3, {{0, 2, 1.0, {}}}, 1, 1);
  Run();
  EXPECT_EQ(SamplesOfLast(), 100u);
}

TEST_F(KeptOrders, AskedToKeepItAgainItHasIt) {
  Keep(1, 0, 2);
  Run();
  executor->Cancel(0, 0);  // The step begins again with the same parameters.
  Keep(4, 0, 2);
  Run();
  const auto ends = Said<wire::AnswerEndT>();
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_TRUE(ends[1].finished);
  EXPECT_EQ(ends[1].order, 5u);
  EXPECT_EQ(ends[1].samples, 0u);
}

TEST_F(KeptOrders, WhatIsCancelledIsNotKept) {
  Keep(1, 0, 4);
  loop.RunUntilTime(loop.Now() + kSampleTime * 60);
  executor->Cancel(0, 2);
  Run();
  ASSERT_EQ(Said<wire::AnswerEndT>().size(), 1u);
  EXPECT_FALSE(Said<wire::AnswerEndT>()[0].finished);
  Ask(2, {{0, 4, 1.0, {}}});
  Run();
  EXPECT_EQ(SamplesOfLast(), 200u);
}

TEST_F(KeptOrders, AnAnswerThatIsCancelledWhileItIsPutTogetherIsNotSent) {
  Keep(1, 0, 4);
  Run();
  Ask(2, {{0, 4, 1.0, {}}});
  executor->Cancel(0, 3);
  Run();
  EXPECT_TRUE(Answer(2).empty());
  EXPECT_FALSE(Said<wire::AnswerEndT>().back().finished);
  Ask(3, {{0, 4, 1.0, {}}});
  Run();
  EXPECT_EQ(Answer(3).size(), 18u);
}

// Memory of the machine is checked before it is allocated.
TEST(KeptSums, MoreThanTheMachineHasIsRefused) {
  constexpr uint64_t kParameters = 1000;
  KeptSums kept(kParameters, (WorkerVectors() + 2) * kParameters * sizeof(float));
  auto first = kept.Room(7);
  ASSERT_TRUE(first.ok());
  kept.Keep(0, 1, *first, Tally());
  EXPECT_TRUE(kept.Has(7, 0, 1));
  ASSERT_TRUE(kept.Room(7).ok());
  const auto third = kept.Room(7);
  EXPECT_EQ(third.code(), StatusCode::kResource);
  first = Status::Internal("let go");
  EXPECT_TRUE(kept.Room(8).ok()) << "what was kept before has room for it";
  EXPECT_FALSE(kept.Has(8, 0, 1));
  EXPECT_FALSE(kept.Has(7, 0, 1));
}

}  // namespace
}  // namespace motley
