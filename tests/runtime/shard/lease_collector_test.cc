// SPDX-License-Identifier: Apache-2.0
#include "runtime/shard/lease_collector.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <variant>
#include <vector>

#include "base/sanitizer.h"
#include "tests/runtime/shard/collector_rig.h"

namespace motley {
namespace {

constexpr StepId kStep = 5;

// Two workers, six partitions.
class Leases : public CollectorRig {
 protected:
  Leases()
      : leases(2, 6, kLength, kSlice, *parallel,
               {[this](const Event& event) { events.push_back(event); },
                [this](WorkerId, std::span<const PartitionId> some) {
                  covered.insert(covered.end(), some.begin(), some.end());
                }}),
        sum(kLength, 1e6f) {
    leases.Open(kStep, sum);
  }

  uint32_t Extend(WorkerId worker, const std::vector<PartitionId>& partitions) {
    const auto list = leases.Extend(worker, partitions);
    EXPECT_TRUE(list.ok()) << list.status().ToString();
    return list.ok() ? *list : 0;
  }
  static Header SliceHeader(uint32_t list, size_t slice) {
    return CollectorRig::SliceHeader(kStep, list, slice);
  }
  // False when it was refused.
  bool Slice(WorkerId worker, uint32_t list, size_t slice, float value,
             std::optional<double> norm = {}) {
    LeaseCollector::Slice place;
    Header header = SliceHeader(list, slice);
    header.tally = tally;
    Claim(header, value, norm);
    const auto wanted = leases.Begin(worker, header, false, place);
    if (!wanted.ok() || !*wanted) return wanted.ok();
    std::fill(place.room.begin(), place.room.end(), value);
    return leases.Finish(worker, place).ok();
  }
  void Slices(WorkerId worker, uint32_t list, float value) {
    for (size_t slice = 0; slice < 3; ++slice) EXPECT_TRUE(Slice(worker, list, slice, value));
  }
  Status End(WorkerId worker, uint32_t list, uint32_t entries) {
    wire::VectorEndT end;
    end.step = kStep;
    end.list = list;
    end.entries = entries;
    return leases.OnVectorEnd(worker, end);
  }
  Status Release(WorkerId worker, uint32_t list, std::vector<uint32_t> partitions) {
    wire::ReleasedT released;
    released.step = kStep;
    released.list = list;
    released.partitions = std::move(partitions);
    return leases.OnReleased(worker, released);
  }
  Status Progress(WorkerId worker, uint32_t list, uint32_t done) {
    wire::LeaseProgressT progress;
    progress.step = kStep;
    progress.list = list;
    progress.done = done;
    return leases.OnProgress(worker, progress);
  }

  std::vector<PartitionId> covered;
  Tally tally;  // That slices say.
  LeaseCollector leases;
  std::vector<float> sum;
};

TEST_F(Leases, VectorsThatTileThePartitionsAddUp) {
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
  EXPECT_TRUE(leases.Close().ok());
  EXPECT_EQ(sum, std::vector<float>(kLength, 7));
}

TEST_F(Leases, VectorsFromParametersOfAnotherVersionAreRefused) {
  for (const int off : {-1, 1}) {
    const uint32_t list = Extend(0, {0, 1});
    Header header = SliceHeader(list, 0);
    header.version = static_cast<uint64_t>(static_cast<int>(kStep) + off);
    Sign(header, std::vector<float>(kSlice, 1));
    LeaseCollector::Slice place;
    EXPECT_EQ(leases.Begin(0, header, false, place).code(), StatusCode::kDataError) << off;
    EXPECT_EQ(Of<RowRejected>().size(), 1u) << off;
    EXPECT_TRUE(covered.empty());
    events.clear();
  }
}

TEST_F(Leases, LossAndWeightAreThoseOfTheVectorsInTheSum) {
  auto counts = std::make_shared<std::vector<BatchSchedule::Range>>();
  for (const uint32_t count : {5, 5, 5, 2, 2, 2}) counts->push_back({0, count});
  leases.Open(kStep, sum, counts);
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
  EXPECT_TRUE(leases.Close().ok());
  EXPECT_EQ(sum, std::vector<float>(kLength, 4));
  EXPECT_EQ(leases.tally(), (Tally{.loss = 3, .weight = 21}));
  leases.Open(kStep + 1, sum);
  EXPECT_EQ(leases.tally(), Tally());
}

TEST_F(Leases, AStepThatIsNotTiledIsOurOwnBug) {
  const uint32_t a = Extend(0, {0, 1, 2, 3, 4});
  Slices(0, a, 1);
  EXPECT_TRUE(End(0, a, 5).ok());
  EXPECT_EQ(leases.Close().code(), StatusCode::kInternal);
}

TEST_F(Leases, OnePartitionIsOneWorkersAtATime) {
  const uint32_t a = Extend(0, {0, 1});
  EXPECT_EQ(leases.Extend(1, std::vector<PartitionId>{1}).code(), StatusCode::kInternal);
  EXPECT_EQ(leases.Extend(1, std::vector<PartitionId>{6}).code(), StatusCode::kInternal);
  Slices(0, a, 1);
  EXPECT_TRUE(End(0, a, 2).ok());
  EXPECT_EQ(leases.Extend(1, std::vector<PartitionId>{0}).code(), StatusCode::kInternal);
}

TEST_F(Leases, ASumIsNotTouchedBeforeTheVectorIsWhole) {
  const uint32_t a = Extend(0, {0, 1, 2, 3, 4, 5});
  Slices(0, a, 1);
  EXPECT_EQ(sum, std::vector<float>(kLength, 1e6f));
  leases.Forget(0);  // What it left half sent goes with it.
  const uint32_t b = Extend(1, {0, 1, 2, 3, 4, 5});
  Slices(1, b, 3);
  EXPECT_TRUE(End(1, b, 6).ok());
  EXPECT_TRUE(leases.Close().ok());
  EXPECT_EQ(sum, std::vector<float>(kLength, 3));
}

TEST_F(Leases, AVectorThatIsNotANumberIsRefusedAndItsLeasesAreFree) {
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

TEST_F(Leases, NormsMustBeAsDeclared) {
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

TEST_F(Leases, SlicesMayComeInAnyOrderAndSayTheSameOfLossAndWeight) {
  const uint32_t a = Extend(0, {0, 1, 2, 3, 4, 5});
  tally = {.loss = 3, .weight = 2};
  for (const size_t slice : {2, 0, 1}) EXPECT_TRUE(Slice(0, a, slice, 4));
  EXPECT_TRUE(End(0, a, 6).ok());
  EXPECT_TRUE(leases.Close().ok());
  EXPECT_EQ(sum, std::vector<float>(kLength, 4));
  EXPECT_EQ(leases.tally(), tally);
  leases.Open(kStep, sum);
  const uint32_t b = Extend(0, {0});
  EXPECT_TRUE(Slice(0, b, 2, 4));
  tally.weight = 1;
  EXPECT_FALSE(Slice(0, b, 0, 4)) << "another weight than the first";
  ASSERT_EQ(Of<RowRejected>().size(), 1u);
  const uint32_t c = Extend(0, {0});
  EXPECT_TRUE(Slice(0, c, 1, 4)) << "the next vector says what it will";
}

TEST_F(Leases, SketchesMustBeAsDeclared) {
  const uint32_t a = Extend(0, {0});
  LeaseCollector::Slice place;
  Header header = SliceHeader(a, 1);
  std::vector<float> values = {1, -2, 3, -4};
  Sign(header, values);
  ASSERT_TRUE(leases.Begin(0, header, false, place).ok());
  values[1] = -values[1];
  std::copy(values.begin(), values.end(), place.room.begin());
  const Status refused = leases.Finish(0, place);
  EXPECT_EQ(refused.code(), StatusCode::kDataError);
  EXPECT_NE(refused.message().find("slice 1 of an answer has sketch"), std::string::npos);
  ASSERT_EQ(Of<RowRejected>().size(), 1u);
  EXPECT_NE(Extend(1, {0}), a) << "the partition is free again";
}

TEST_F(Leases, HalfAVectorAndTooManyEntriesAreRefused) {
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

TEST_F(Leases, WhatIsGivenBackMustHaveBeenAskedForAndNotBeDone) {
  const uint32_t a = Extend(0, {0, 1, 2, 3});
  EXPECT_EQ(Release(0, a, {3}).code(), StatusCode::kDataError) << "nobody asked";
  leases.Revoke(0, {0, 3});
  EXPECT_TRUE(Progress(0, a, 1).ok());
  leases.Revoke(0, {2});
  leases.Revoke(0, {});
  EXPECT_TRUE(Release(0, a, {3}).ok());
  EXPECT_EQ(Of<LeaseReleased>().size(), 1u);
  EXPECT_EQ(Release(0, a, {1}).code(), StatusCode::kDataError) << "another was asked for";
  EXPECT_TRUE(Release(0, a, {}).ok());
  leases.Revoke(0, {0});
  EXPECT_EQ(Release(0, a, {0}).code(), StatusCode::kDataError) << "it is done";
  EXPECT_TRUE(leases.Extend(1, std::vector<PartitionId>{3}).ok());
}

TEST_F(Leases, ProgressOnlyGrowsAndStaysOnTheList) {
  const uint32_t a = Extend(0, {0, 1, 2});
  EXPECT_TRUE(Progress(0, a, 2).ok());
  EXPECT_EQ(Progress(0, a, 1).code(), StatusCode::kDataError);
  EXPECT_EQ(Progress(0, a, 4).code(), StatusCode::kDataError);
  EXPECT_EQ(Of<LeaseProgress>().size(), 1u);
}

TEST_F(Leases, WordsAboutAListThatHasEndedAreSignsOfLifeAndNothingElse) {
  const uint32_t a = Extend(0, {0, 1, 2});
  leases.Revoke(0, {1});
  leases.Cancel(0, kStep);
  EXPECT_TRUE(Progress(0, a, 2).ok());
  EXPECT_TRUE(Release(0, a, {1}).ok());
  EXPECT_TRUE(End(0, a, 2).ok());
  EXPECT_EQ(Of<WorkerProgress>().size(), 3u);
  EXPECT_EQ(events.size(), 3u);
  Slices(0, a, 1);
  EXPECT_EQ(Of<RowLate>().size(), 1u) << "once per vector";
  EXPECT_TRUE(leases.Extend(1, std::vector<PartitionId>{0, 1, 2}).ok());
}

TEST_F(Leases, AnEarlierLifeAndAStepThatIsOverChangeNothing) {
  const uint32_t a = Extend(0, {0, 1, 2, 3, 4, 5});
  LeaseCollector::Slice place;
  const auto wanted = leases.Begin(0, SliceHeader(a + 7, 0), true, place);
  ASSERT_TRUE(wanted.ok());
  EXPECT_FALSE(*wanted);
  Slices(0, a, 1);
  EXPECT_TRUE(End(0, a, 6).ok());
  LeaseCollector::Slice late;
  EXPECT_TRUE(*leases.Begin(0, SliceHeader(a, 0), false, late));
  EXPECT_TRUE(leases.Close().ok());
  EXPECT_TRUE(leases.Finish(0, late).ok()) << "which was arriving as the step ended";
  const std::vector<float> before = sum;
  leases.Open(kStep + 1, sum);
  Slices(0, a, 9);
  EXPECT_EQ(Of<RowLate>().size(), 1u);
  EXPECT_EQ(sum, before);
}

TEST_F(Leases, AVectorOverWhatWasNeverLeasedIsRefused) {
  Extend(0, {0});
  EXPECT_FALSE(Slice(0, 0xffffffff, 0, 1));
  EXPECT_EQ(Of<RowRejected>().size(), 1u);
}

TEST(LeaseMemory, WantOfMemoryForAVectorIsNoFaultOfTheWorker) {
#if MOTLEY_ADDRESS_SANITIZER || MOTLEY_THREAD_SANITIZER
  GTEST_SKIP() << "the sanitizer ends the process where memory runs out";
#endif
  constexpr size_t kHuge = size_t{1} << 46;
  const auto parallel = MakeSerialParallelFor();
  std::vector<Event> events;
  LeaseCollector leases(1, 1, 2 * kHuge + 4, kHuge, *parallel,
                        {[&](const Event& event) { events.push_back(event); }, {}});
  // No sum of that length can be lent; none is touched before a vector is whole.
  float one = 0;
  leases.Open(0, std::span<float>(&one, 2 * kHuge + 4));
  const std::vector<PartitionId> all = {0};
  Header header;
  header.row_id = leases.Extend(0, all).value();
  header.offset = 2 * kHuge;
  header.total = 2 * kHuge + 4;
  header.length = 4 * sizeof(float);
  LeaseCollector::Slice place;
  EXPECT_EQ(leases.Begin(0, header, false, place).code(), StatusCode::kResource);
  EXPECT_TRUE(events.empty());
}

}  // namespace
}  // namespace motley
