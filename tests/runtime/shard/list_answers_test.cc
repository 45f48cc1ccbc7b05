// SPDX-License-Identifier: Apache-2.0
// Answers to lists of partitions, which count whole or not at all.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <variant>
#include <vector>

#include "base/sanitizer.h"
#include "tests/runtime/shard/answers_rig.h"

namespace motley {
namespace {

constexpr StepId kStep = 5;

class ListAnswers : public ShardedAnswers {
 protected:
  ListAnswers() { Open(kStep); }
  void Open(StepId step, KnownCounts counts = nullptr) {
    EXPECT_TRUE(lists.Open({step, step}, nullptr, std::move(counts)).ok());
    step_ = step;
  }

  uint32_t Extend(WorkerId worker, const std::vector<PartitionId>& partitions) {
    const auto order = lists.orders().Extend(worker, step_, partitions);
    EXPECT_TRUE(order.ok()) << order.status().ToString();
    return order.ok() ? order->order : 0;
  }
  Header SliceHeader(uint32_t list, size_t slice) const {
    return AnswersRig::SliceHeader(kStep, list, slice);
  }
  // Returns false when the slice was refused.
  bool Slice(WorkerId worker, uint32_t list, size_t slice, float value,
             std::optional<double> norm = {}) {
    Answers::Slice place;
    Header header = SliceHeader(list, slice);
    header.tally = tally;
    Claim(header, value, norm);
    const auto wanted = lists.Begin(worker, header, false, place);
    if (!wanted.ok() || !*wanted) return wanted.ok();
    std::fill(place.values.begin(), place.values.end(), value);
    return lists.Finish(worker, place).ok();
  }
  void Slices(WorkerId worker, uint32_t list, float value) {
    for (size_t slice = 0; slice < 3; ++slice) EXPECT_TRUE(Slice(worker, list, slice, value));
  }
  Status End(WorkerId worker, uint32_t list, uint32_t entries) {
    wire::AnswerEndT end;
    end.step = kStep;
    end.order = list;
    end.entries = entries;
    const Result<bool> given = lists.OnEnd(worker, end);
    return given.ok() && !*given ? Status::NotFound("no such order") : given.status();
  }
  Status Release(WorkerId worker, uint32_t list, std::vector<uint32_t> partitions) {
    wire::ReleasedT released;
    released.step = kStep;
    released.order = list;
    released.partitions = std::move(partitions);
    return lists.OnReleased(worker, released);
  }
  Status Progress(WorkerId worker, uint32_t list, uint32_t done) {
    wire::ProgressT progress;
    progress.step = kStep;
    progress.order = list;
    progress.entries = done;
    return lists.OnProgress(worker, progress);
  }

  Tally tally;       // The tally that slices declare.
  StepId step_ = 0;  // The step that was opened last.
  // Two workers, six partitions.
  Answers lists = Make({.workers = 2, .partitions = 6});
};

TEST_P(ListAnswers, VectorsThatTileThePartitionsAddUp) {
  const uint32_t a = Extend(0, {3, 1, 0});
  const uint32_t b = Extend(1, {2, 4, 5});
  EXPECT_NE(a, b);
  Slices(0, a, 1);
  EXPECT_TRUE(End(0, a, 2).ok());
  Slices(1, b, 2);
  EXPECT_TRUE(End(1, b, 3).ok());
  Slices(0, a, 4);
  EXPECT_TRUE(End(0, a, 1).ok());
  EXPECT_EQ(covered, (std::vector<PartitionId>{3, 1, 2, 4, 5, 0}));
  EXPECT_TRUE(lists.Close(step_).ok());
  EXPECT_EQ(Values(), std::vector<float>(kLength, 7));
}

TEST_P(ListAnswers, VectorsFromParametersOfAnotherVersionAreRefused) {
  for (const int off : {-1, 1}) {
    const uint32_t list = Extend(0, {0, 1});
    Header header = SliceHeader(list, 0);
    header.version = static_cast<uint64_t>(static_cast<int>(kStep) + off);
    Sign(header, std::vector<float>(kSlice, 1));
    Answers::Slice place;
    EXPECT_EQ(lists.Begin(0, header, false, place).code(), StatusCode::kDataError) << off;
    EXPECT_EQ(Of<RowRejected>().size(), 1u) << off;
    EXPECT_TRUE(covered.empty());
    events.clear();
  }
}

TEST_P(ListAnswers, LossAndWeightAreThoseOfTheVectorsInTheSum) {
  auto counts = std::make_shared<std::vector<BatchSchedule::Range>>();
  for (const uint32_t count : {5, 5, 5, 2, 2, 2}) counts->push_back({0, count});
  Open(kStep, counts);
  const uint32_t a = Extend(0, {3, 1, 0});
  tally = {.loss = 1e10, .weight = 8};
  Slices(0, a, 1);
  EXPECT_EQ(End(0, a, 2).code(), StatusCode::kDataError) << "two partitions have seven samples";
  EXPECT_EQ(Of<RowRejected>().size(), 1u);
  const uint32_t b = Extend(1, {0, 1, 2, 3, 4, 5});
  tally = {.loss = 1, .weight = 15};
  Slices(1, b, 2);
  EXPECT_TRUE(End(1, b, 3).ok());
  tally = {.loss = 2, .weight = 6};
  Slices(1, b, 2);
  EXPECT_TRUE(End(1, b, 3).ok());
  EXPECT_TRUE(lists.Close(step_).ok());
  EXPECT_EQ(Values(), std::vector<float>(kLength, 4));
  EXPECT_EQ(sum().tally(), (Tally{.loss = 3, .weight = 21}));
  Open(kStep + 1);
  EXPECT_EQ(sum().tally(), Tally());
}

TEST_P(ListAnswers, AStepThatIsNotTiledIsOurOwnBug) {
  const uint32_t a = Extend(0, {0, 1, 2, 3, 4});
  Slices(0, a, 1);
  EXPECT_TRUE(End(0, a, 5).ok());
  EXPECT_EQ(lists.Close(step_).code(), StatusCode::kInternal);
}

TEST_P(ListAnswers, OnePartitionIsOneWorkersAtATime) {
  const uint32_t a = Extend(0, {0, 1});
  EXPECT_EQ(lists.orders().Extend(1, step_, std::vector<PartitionId>{1}).code(),
            StatusCode::kInternal);
  EXPECT_EQ(lists.orders().Extend(1, step_, std::vector<PartitionId>{6}).code(),
            StatusCode::kInternal);
  Slices(0, a, 1);
  EXPECT_TRUE(End(0, a, 2).ok());
  EXPECT_EQ(lists.orders().Extend(1, step_, std::vector<PartitionId>{0}).code(),
            StatusCode::kInternal);
}

TEST_P(ListAnswers, ASumIsNotTouchedBeforeTheVectorIsWhole) {
  const uint32_t a = Extend(0, {0, 1, 2, 3, 4, 5});
  const std::vector<float> before = Values();
  Slices(0, a, 1);
  EXPECT_EQ(Values(), before);
  lists.orders().Forget(0);  // The unfinished vector of worker 0 is dropped as well.
  const uint32_t b = Extend(1, {0, 1, 2, 3, 4, 5});
  Slices(1, b, 3);
  EXPECT_TRUE(End(1, b, 6).ok());
  EXPECT_TRUE(lists.Close(step_).ok());
  EXPECT_EQ(Values(), std::vector<float>(kLength, 3));
}

TEST_P(ListAnswers, AVectorThatIsNotANumberIsRefusedAndItsLeasesAreFree) {
  const uint32_t a = Extend(0, {0, 1});
  EXPECT_TRUE(Slice(0, a, 0, 1));
  EXPECT_FALSE(Slice(0, a, 1, NAN, 2));
  ASSERT_EQ(Of<RowRejected>().size(), 1u);
  EXPECT_FALSE(Of<RowRejected>()[0].touched);
  EXPECT_TRUE(Slice(0, a, 2, 1)) << "discarded";
  EXPECT_TRUE(End(0, a, 2).ok()) << "of a list that has ended";
  EXPECT_TRUE(Of<RowLate>().empty());
  EXPECT_NE(Extend(1, {0, 1}), a);
}

TEST_P(ListAnswers, NormsMustBeAsDeclared) {
  EXPECT_FALSE(Slice(1, Extend(1, {0}), 0, 1, 2.01)) << "too small";
  EXPECT_FALSE(Slice(1, Extend(1, {0}), 0, 1, 1.99)) << "too large";
  EXPECT_FALSE(Slice(1, Extend(1, {0}), 0, 1, NAN));
  EXPECT_FALSE(Slice(1, Extend(1, {0}), 0, 1, INFINITY));
  EXPECT_FALSE(Slice(1, Extend(1, {0}), 0, 1, -2));
  const uint32_t b = Extend(1, {0});
  EXPECT_TRUE(Slice(1, b, 1, 100)) << "each slice has its own";
  EXPECT_TRUE(Slice(1, b, 0, 0));
  EXPECT_FALSE(Slice(1, b, 2, 1, 2)) << "it has two values";
  EXPECT_EQ(Of<RowRejected>().size(), 6u);
}

TEST_P(ListAnswers, SlicesMayComeInAnyOrderAndSayTheSameOfLossAndWeight) {
  const uint32_t a = Extend(0, {0, 1, 2, 3, 4, 5});
  tally = {.loss = 3, .weight = 2};
  for (const size_t slice : {2, 0, 1}) EXPECT_TRUE(Slice(0, a, slice, 4));
  EXPECT_TRUE(End(0, a, 6).ok());
  EXPECT_TRUE(lists.Close(step_).ok());
  EXPECT_EQ(Values(), std::vector<float>(kLength, 4));
  EXPECT_EQ(sum().tally(), tally);
  Open(kStep);
  const uint32_t b = Extend(0, {0});
  EXPECT_TRUE(Slice(0, b, 2, 4));
  tally.weight = 1;
  EXPECT_FALSE(Slice(0, b, 0, 4)) << "another weight than the first";
  ASSERT_EQ(Of<RowRejected>().size(), 1u);
  const uint32_t c = Extend(0, {0});
  EXPECT_TRUE(Slice(0, c, 1, 4)) << "the next vector says what it will";
}

TEST_P(ListAnswers, SketchesMustBeAsDeclared) {
  const uint32_t a = Extend(0, {0});
  Answers::Slice place;
  Header header = SliceHeader(a, 1);
  std::vector<float> values = {1, -2, 3, -4};
  Sign(header, values);
  ASSERT_TRUE(lists.Begin(0, header, false, place).ok());
  values[1] = -values[1];
  std::copy(values.begin(), values.end(), place.values.begin());
  const Status refused = lists.Finish(0, place);
  EXPECT_EQ(refused.code(), StatusCode::kDataError);
  EXPECT_NE(refused.message().find("has another norm or sketch"), std::string::npos);
  ASSERT_EQ(Of<RowRejected>().size(), 1u);
  EXPECT_NE(Extend(1, {0}), a) << "the partition is free again";
}

TEST_P(ListAnswers, HalfAVectorAndTooManyEntriesAreRefused) {
  const uint32_t a = Extend(0, {0, 1});
  EXPECT_TRUE(Slice(0, a, 0, 1));
  EXPECT_EQ(End(0, a, 2).code(), StatusCode::kDataError);
  const uint32_t b = Extend(0, {0, 1});
  Slices(0, b, 1);
  EXPECT_EQ(End(0, b, 3).code(), StatusCode::kDataError);
  EXPECT_EQ(End(0, Extend(0, {0, 1}), 0).code(), StatusCode::kDataError);
  const uint32_t c = Extend(0, {0, 1});
  EXPECT_TRUE(Slice(0, c, 0, 1));
  EXPECT_FALSE(Slice(0, c, 0, 1)) << "twice";
  EXPECT_EQ(Of<RowRejected>().size(), 4u);
}

TEST_P(ListAnswers, WhatIsGivenBackMustHaveBeenAskedForAndNotBeDone) {
  const uint32_t a = Extend(0, {0, 1, 2, 3});
  EXPECT_EQ(Release(0, a, {3}).code(), StatusCode::kDataError) << "nobody asked";
  lists.orders().Revoke(0, {0, 3});
  EXPECT_TRUE(Progress(0, a, 1).ok());
  lists.orders().Revoke(0, {2});
  lists.orders().Revoke(0, {});
  EXPECT_TRUE(Release(0, a, {3}).ok());
  EXPECT_EQ(Of<LeaseReleased>().size(), 1u);
  EXPECT_EQ(Release(0, a, {1}).code(), StatusCode::kDataError) << "another was asked for";
  EXPECT_TRUE(Release(0, a, {}).ok());
  lists.orders().Revoke(0, {0});
  EXPECT_EQ(Release(0, a, {0}).code(), StatusCode::kDataError) << "it is done";
  EXPECT_TRUE(lists.orders().Extend(1, step_, std::vector<PartitionId>{3}).ok());
}

TEST_P(ListAnswers, ProgressOnlyGrowsAndStaysOnTheList) {
  const uint32_t a = Extend(0, {0, 1, 2});
  EXPECT_TRUE(Progress(0, a, 2).ok());
  EXPECT_EQ(Progress(0, a, 1).code(), StatusCode::kDataError);
  EXPECT_EQ(Progress(0, a, 4).code(), StatusCode::kDataError);
  EXPECT_EQ(Of<LeaseProgress>().size(), 1u);
}

TEST_P(ListAnswers, WordsAboutAListThatHasEndedAreSignsOfLifeAndNothingElse) {
  const uint32_t a = Extend(0, {0, 1, 2});
  lists.orders().Revoke(0, {1});
  lists.orders().Cancel(0, kStep);
  EXPECT_TRUE(Progress(0, a, 2).ok());
  EXPECT_TRUE(Release(0, a, {1}).ok());
  EXPECT_TRUE(End(0, a, 2).ok());
  EXPECT_EQ(Of<WorkerProgress>().size(), 3u);
  EXPECT_EQ(events.size(), 3u);
  Slices(0, a, 1);
  EXPECT_EQ(Of<RowLate>().size(), 1u) << "once per vector";
  EXPECT_TRUE(lists.orders().Extend(1, step_, std::vector<PartitionId>{0, 1, 2}).ok());
}

TEST_P(ListAnswers, AnEarlierLifeAndAStepThatIsOverChangeNothing) {
  const uint32_t a = Extend(0, {0, 1, 2, 3, 4, 5});
  Answers::Slice place;
  const auto wanted = lists.Begin(0, SliceHeader(a + 7, 0), true, place);
  ASSERT_TRUE(wanted.ok());
  EXPECT_FALSE(*wanted);
  Slices(0, a, 1);
  EXPECT_TRUE(End(0, a, 6).ok());
  Answers::Slice late;
  EXPECT_TRUE(*lists.Begin(0, SliceHeader(a, 0), false, late));
  EXPECT_TRUE(lists.Close(step_).ok());
  EXPECT_TRUE(lists.Finish(0, late).ok()) << "which was arriving as the step ended";
  const std::vector<float> before = Values();
  Open(kStep + 1);
  Slices(0, a, 9);
  EXPECT_EQ(Of<RowLate>().size(), 1u);
  EXPECT_EQ(Values(), before);
}

TEST_P(ListAnswers, AVectorOverWhatWasNeverLeasedIsRefused) {
  Extend(0, {0});
  EXPECT_FALSE(Slice(0, 0xffffffff, 0, 1));
  EXPECT_EQ(Of<RowRejected>().size(), 1u);
}

// The worker is not at fault; that would be kDataError.
TEST_P(ListAnswers, OutOfMemoryForASliceIsSaid) {
#if MOTLEY_ADDRESS_SANITIZER || MOTLEY_THREAD_SANITIZER
  GTEST_SKIP() << "the sanitizer ends the process where memory runs out";
#endif
  constexpr size_t kHuge = size_t{1} << 46;
  SpareSlices huge;
  AlignedVector values;
  EXPECT_EQ(huge.MakeRoom(values, kHuge).code(), StatusCode::kResource);
}

TEST_P(ListAnswers, OutOfMemoryForAnotherUpdateIsSaid) {
  const Status full = Status::Resource("no memory is left");
  Answers poor(
      2, 6,
      {[](const Event&) {}, nullptr, [&]() -> Result<std::shared_ptr<UpdateSum>> { return full; }});
  EXPECT_EQ(poor.Open({0, 0}, nullptr).code(), StatusCode::kResource);
  EXPECT_EQ(poor.Open({0, 0}, Form("cyclic", 3, 1)).code(), StatusCode::kResource);
  EXPECT_FALSE(poor.decodable(0));
}

// No machine can hold these sums. Only the short last slice is sent.
TEST(StepSum, NeedsMemoryForTheSumsOfACode) {
#if MOTLEY_ADDRESS_SANITIZER || MOTLEY_THREAD_SANITIZER
  GTEST_SKIP() << "the sanitizer ends the process where memory runs out";
#endif
  constexpr size_t kHuge = size_t{1} << 46;
  float first = 0;  // Nobody writes to this home.
  const auto parallel = MakeSerialParallelFor();
  SpareSlices spare;
  StepSum sum(2 * kHuge + 4, kHuge, *parallel, {}, spare);
  sum.SetHome(std::span(&first, 2 * kHuge + 4));
  CodeRequest request;
  request.speeds.assign(3, 1);
  request.stragglers = 1;
  request.partitions = 3;
  const auto form = std::make_shared<const CodeForm>(BuildCode("cyclic", request).value());
  sum.OpenRows(form);  // It needs a sum beside the home.
  AlignedVector values(4, 1);
  EXPECT_EQ(sum.decoder().AddSlice(0, 2, values, 10).code(), StatusCode::kResource);
}

INSTANTIATE_TEST_SUITE_P(Shards, ListAnswers, testing::Values(1, 2, 3));

}  // namespace
}  // namespace motley
