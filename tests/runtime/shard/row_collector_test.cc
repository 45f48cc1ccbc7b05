// SPDX-License-Identifier: Apache-2.0
#include "runtime/shard/row_collector.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "base/sanitizer.h"
#include "coding/gradient_code.h"
#include "runtime/shard/answer_log.h"
#include "tests/runtime/shard/collector_rig.h"

namespace motley {
namespace {

std::shared_ptr<const CodeForm> Form(const char* code, uint32_t workers, uint32_t stragglers) {
  CodeRequest request;
  request.speeds.assign(workers, 1);
  request.stragglers = stragglers;
  request.partitions = workers;
  return std::make_shared<const CodeForm>(BuildCode(code, request).value());
}

class Collector : public CollectorRig {
 protected:
  Collector()
      : rows(3, kLength, kSlice, *parallel,
             [this](const Event& event) { events.push_back(event); }) {}

  // Sends one slice of `value`s; false when it was refused.
  bool Slice(WorkerId worker, StepId step, RowId row, size_t slice, float value,
             std::optional<double> norm = {}) {
    Header header = SliceHeader(step, row, slice);
    header.tally = tally;
    Claim(header, value, norm);
    const size_t size = header.length / sizeof(float);
    AlignedVector values;
    const Result<bool> wanted = rows.Begin(worker, header, false, values);
    if (!wanted.ok() || !*wanted) return wanted.ok();
    EXPECT_EQ(values.size(), size);
    values.assign(size, value);
    return rows.Finish(worker, values).ok();
  }
  void Row(WorkerId worker, StepId step, RowId row, float value) {
    for (size_t slice = 0; slice < 3; ++slice) EXPECT_TRUE(Slice(worker, step, row, slice, value));
  }
  bool End(WorkerId worker, StepId step, RowId row, bool finished = true) {
    wire::PullT pull;
    pull.step = step;
    pull.row = row;
    pull.finished = finished;
    return rows.End(worker, pull);
  }
  std::vector<float> Sum() {
    std::vector<float> sum(kLength);
    EXPECT_TRUE(rows.Close(sum).ok());
    return sum;
  }

  RowCollector rows;
  Tally tally;  // That slices say.
};

TEST_F(Collector, TellsOfEachRowOnceAndOfDecodabilityOnce) {
  rows.Open(0, Form("none", 3, 0));
  for (WorkerId w = 0; w < 3; ++w) rows.Assign(w, 0, w);
  Row(2, 0, 2, 4);
  Row(0, 0, 0, 1);
  EXPECT_TRUE(Of<StepDecodable>().empty());
  Row(1, 0, 1, 2);
  for (WorkerId w = 0; w < 3; ++w) EXPECT_TRUE(End(w, 0, w));
  EXPECT_EQ(Of<RowArrived>().size(), 3u);
  EXPECT_EQ(Of<StepDecodable>().size(), 1u);
  EXPECT_EQ(events.size(), 4u);
  EXPECT_EQ(Sum(), std::vector<float>(kLength, 7));
}

TEST_F(Collector, LossAndWeightAreThoseOfTheFirstSlicesThatCounted) {
  rows.Open(0, Form("none", 2, 0));
  for (WorkerId w = 0; w < 2; ++w) rows.Assign(w, 0, w);
  tally = {.loss = 1e10, .weight = 5};
  Row(0, 0, 0, 1);
  tally = {.loss = 2, .weight = 7};
  Row(1, 0, 1, 2);
  EXPECT_EQ(Sum(), std::vector<float>(kLength, 3));
  EXPECT_EQ(rows.tally(), (Tally{.loss = 1e10 + 2, .weight = 12}));
  rows.Open(1, Form("none", 2, 0));
  for (WorkerId w = 0; w < 2; ++w) {
    EXPECT_TRUE(End(w, 0, w));
    rows.Assign(w, 1, w);
    Row(w, 1, w, 1);
  }
  EXPECT_EQ(Sum(), std::vector<float>(kLength, 2));
  EXPECT_EQ(rows.tally(), (Tally{.loss = 4, .weight = 14})) << "nothing of the step before";
}

TEST_F(Collector, AnAnswerOfOtherSamplesIsRefusedBeforeItIsAdded) {
  auto counts = std::make_shared<std::vector<BatchSchedule::Range>>();
  for (const uint32_t count : {3, 4}) counts->push_back({0, count});
  rows.Open(0, Form("none", 2, 0), counts);
  for (WorkerId w = 0; w < 2; ++w) rows.Assign(w, 0, w);
  tally = {.loss = 1, .weight = 4};
  EXPECT_FALSE(Slice(0, 0, 0, 0, 50));
  ASSERT_EQ(Of<RowRejected>().size(), 1u);
  EXPECT_EQ(Of<RowRejected>()[0].worker, 0u);
  EXPECT_FALSE(Of<RowRejected>()[0].touched);
  Row(1, 0, 1, 2);
  EXPECT_EQ(Of<RowArrived>().size(), 1u);
  rows.Assign(1, 0, 0);
  EXPECT_TRUE(End(1, 0, 1));
  tally.weight = 3;
  Row(1, 0, 0, 1);
  EXPECT_EQ(Sum(), std::vector<float>(kLength, 3));
  EXPECT_EQ(rows.tally().weight, 7.0);
}

TEST_F(Collector, AnswersOfAnEarlierAttemptNeverCount) {
  rows.Open(0, Form("none", 2, 0));
  rows.Assign(0, 0, 0);
  EXPECT_TRUE(Slice(0, 0, 0, 0, 50));
  rows.Open(0, Form("none", 2, 0));  // The same step again, perhaps with another code.
  EXPECT_TRUE(Slice(0, 0, 0, 1, 50));
  EXPECT_TRUE(Slice(0, 0, 0, 2, 50));
  EXPECT_TRUE(End(0, 0, 0));
  EXPECT_EQ(Of<WorkerProgress>().size(), 1u) << "a word; late is what the step has no use for";
  EXPECT_TRUE(Of<RowLate>().empty());
  rows.Assign(0, 0, 0);
  rows.Assign(1, 0, 1);
  Row(0, 0, 0, 1);
  Row(1, 0, 1, 2);
  EXPECT_EQ(Of<RowArrived>().size(), 2u);
  EXPECT_EQ(Sum(), std::vector<float>(kLength, 3));
}

TEST_F(Collector, AnswersFromParametersOfAnotherVersionAreRefused) {
  rows.Open(4, Form("none", 3, 0));
  for (const WorkerId worker : {0, 1}) {
    rows.Assign(worker, 4, worker);
    Header header = SliceHeader(4, worker, 0);
    header.version = worker == 0 ? 3 : 5;
    AlignedVector values(kSlice, 1);
    Sign(header, values);
    const Result<bool> wanted = rows.Begin(worker, header, false, values);
    EXPECT_EQ(wanted.code(), StatusCode::kDataError) << header.version;
    EXPECT_EQ(Of<RowRejected>().size(), worker + 1u) << header.version;
  }
}

TEST_F(Collector, ARowThatWasCancelledMayEndUnfinishedAndOthersMayNot) {
  rows.Open(0, Form("none", 3, 0));
  for (RowId row = 0; row < 3; ++row) rows.Assign(0, 0, row);
  rows.CancelRow(0, 0, 1);
  Row(0, 0, 0, 1);
  EXPECT_TRUE(End(0, 0, 0));
  EXPECT_TRUE(Slice(0, 0, 1, 0, 2)) << "it had begun";
  EXPECT_TRUE(End(0, 0, 1, false));
  EXPECT_TRUE(Of<RowRejected>().empty());
  EXPECT_TRUE(End(0, 0, 2, false));
  ASSERT_EQ(Of<RowRejected>().size(), 1u);
  EXPECT_EQ(Of<RowRejected>()[0].row, 2u);
}

TEST_F(Collector, ALieInTheMiddleOfALongSliceMeansThatTheStepStartsAgain) {
  constexpr size_t kLong = 100000;
  std::vector<float> home(kLong);
  RowCollector long_rows(2, kLong, kLong, *parallel,
                         [this](const Event& event) { events.push_back(event); });
  long_rows.SetHome(home);
  Header header;
  header.kind = FrameKind::kGradient;
  header.total = kLong;
  header.length = kLong * sizeof(float);
  const auto send = [&](WorkerId worker, float middle) {
    header.row_id = worker;
    AlignedVector values(kLong, 1);
    Sign(header, values);
    const Result<bool> wanted = long_rows.Begin(worker, header, false, values);
    EXPECT_TRUE(wanted.ok() && *wanted);
    values.assign(kLong, 1);
    values[kLong / 2] = middle;
    return long_rows.Finish(worker, values).ok();
  };
  for (int attempt = 0; attempt < 2; ++attempt) {
    long_rows.Open(0, Form("none", 2, 0));
    for (WorkerId w = 0; w < 2; ++w) long_rows.Assign(w, 0, w);
    EXPECT_TRUE(send(0, 1));
    EXPECT_EQ(send(1, attempt == 0 ? std::nanf("") : 1), attempt == 1);
    wire::PullT pull;
    for (pull.row = 0; pull.row < 2; ++pull.row) EXPECT_TRUE(long_rows.End(pull.row, pull));
  }
  ASSERT_EQ(Of<RowRejected>().size(), 1u);
  EXPECT_TRUE(Of<RowRejected>()[0].touched);
  ASSERT_TRUE(long_rows.Close(home).ok());
  EXPECT_EQ(home, std::vector<float>(kLong, 2));
}

TEST_F(Collector, ASliceThatArrivesAsItsStepClosesIsLate) {
  rows.Open(0, Form("repetition", 2, 1));
  rows.Assign(0, 0, 0);
  rows.Assign(1, 0, 1);
  Header header;
  header.kind = FrameKind::kGradient;
  header.row_id = 1;
  header.total = kLength;
  header.length = kSlice * sizeof(float);
  header.norm = 1;
  AlignedVector values;
  ASSERT_TRUE(rows.Begin(1, header, false, values).ok());
  Row(0, 0, 0, 5);
  EXPECT_EQ(Sum(), std::vector<float>(kLength, 5));
  EXPECT_TRUE(rows.Finish(1, values).ok());
  ASSERT_EQ(Of<RowLate>().size(), 1u);
  EXPECT_EQ(Of<RowLate>()[0].worker, 1u);
}

TEST_F(Collector, ASliceThatArrivesAsItsStepStartsAgainIsNotAdded) {
  rows.Open(0, Form("none", 2, 0));
  rows.Assign(0, 0, 0);
  Header header;
  header.kind = FrameKind::kGradient;
  header.total = kLength;
  header.length = kSlice * sizeof(float);
  header.norm = 100;
  AlignedVector values;
  ASSERT_TRUE(rows.Begin(0, header, false, values).ok());
  rows.Open(0, Form("none", 2, 0));
  values.assign(kSlice, 50);
  EXPECT_TRUE(rows.Finish(0, values).ok());
  EXPECT_TRUE(End(0, 0, 0));
  rows.Assign(0, 0, 0);
  rows.Assign(1, 0, 1);
  Row(0, 0, 0, 1);
  Row(1, 0, 1, 2);
  EXPECT_EQ(Sum(), std::vector<float>(kLength, 3));
}

TEST_F(Collector, TheSecondAnswerToARowIsLateAndNotAddedTwice) {
  rows.Open(0, Form("none", 2, 0));
  rows.Assign(0, 0, 0);
  rows.Assign(1, 0, 1);
  rows.Assign(2, 0, 0);
  Row(0, 0, 0, 1);
  Row(2, 0, 0, 1);
  EXPECT_TRUE(End(2, 0, 0));
  Row(1, 0, 1, 2);
  EXPECT_EQ(Of<RowLate>().size(), 1u);
  EXPECT_EQ(Of<RowArrived>().size(), 2u);
  EXPECT_EQ(Sum(), std::vector<float>(kLength, 3));
}

TEST_F(Collector, SlicesOfOneRowMayComeFromTwoWorkers) {
  rows.Open(0, Form("none", 2, 0));
  rows.Assign(0, 0, 0);
  EXPECT_TRUE(Slice(0, 0, 0, 0, 1));
  rows.Forget(0);
  rows.Assign(2, 0, 0);
  rows.Assign(1, 0, 1);
  Row(2, 0, 0, 1);
  Row(1, 0, 1, 2);
  EXPECT_EQ(Of<RowArrived>().size(), 2u);
  EXPECT_EQ(Sum(), std::vector<float>(kLength, 3));
}

TEST_F(Collector, ALieInTheSumsIsReportedAsTouched) {
  rows.Open(0, Form("none", 2, 0));
  rows.Assign(0, 0, 0);
  EXPECT_TRUE(Slice(0, 0, 0, 0, 1));
  EXPECT_FALSE(Slice(0, 0, 0, 1, NAN, 3));
  EXPECT_TRUE(Slice(0, 0, 0, 2, 1));  // Discarded; the row is refused already.
  ASSERT_EQ(Of<RowRejected>().size(), 1u);
  EXPECT_TRUE(Of<RowRejected>()[0].touched);
}

TEST_F(Collector, ALieOfTheFirstSliceLeavesTheSumsClean) {
  rows.Open(0, Form("none", 2, 0));
  rows.Assign(0, 0, 0);
  EXPECT_FALSE(Slice(0, 0, 0, 0, 1e9f, 3));
  ASSERT_EQ(Of<RowRejected>().size(), 1u);
  EXPECT_FALSE(Of<RowRejected>()[0].touched);
}

TEST_F(Collector, NormsMustBeAsDeclared) {
  const double inf = std::numeric_limits<double>::infinity();
  for (const double norm : {2.01, 1.99, std::nan(""), inf, -2.0, 1e31}) {
    events.clear();
    rows.Open(0, Form("none", 2, 0));
    rows.Assign(0, 0, 0);
    EXPECT_TRUE(Slice(0, 0, 0, 2, 100)) << "each slice has its own";
    EXPECT_FALSE(Slice(0, 0, 0, 0, 1, norm)) << norm;
    ASSERT_EQ(Of<RowRejected>().size(), 1u) << norm;
    EXPECT_TRUE(End(0, 0, 0));
  }
}

TEST_F(Collector, SketchesMustBeNumbers) {
  rows.Open(0, Form("none", 2, 0));
  rows.Assign(0, 0, 0);
  Header header = SliceHeader(0, 0, 1);
  Claim(header, 1, {});
  header.sketch = std::nan("");
  AlignedVector values;
  EXPECT_EQ(rows.Begin(0, header, false, values).code(), StatusCode::kDataError);
  EXPECT_TRUE(values.empty()) << "refused before it is read";
}

// A worker sends what it computed first.
TEST_F(Collector, SlicesMayComeInAnyOrderAndCountOnce) {
  rows.Open(0, Form("none", 2, 0));
  for (WorkerId w = 0; w < 2; ++w) rows.Assign(w, 0, w);
  tally = {.loss = 1, .weight = 2};
  for (const size_t slice : {2, 0, 0, 1}) EXPECT_TRUE(Slice(0, 0, 0, slice, 1));
  EXPECT_EQ(Of<RowArrived>().size(), 1u);
  for (const size_t slice : {1, 2}) EXPECT_TRUE(Slice(1, 0, 1, slice, 2));
  EXPECT_FALSE(rows.decodable());
  EXPECT_TRUE(Slice(1, 0, 1, 0, 2));
  EXPECT_EQ(Sum(), std::vector<float>(kLength, 3));
  EXPECT_EQ(rows.tally(), (Tally{.loss = 2, .weight = 4}));
}

TEST_F(Collector, SlicesOfAnAnswerSayTheSameOfLossAndWeight) {
  rows.Open(0, Form("none", 2, 0));
  rows.Assign(0, 0, 0);
  tally = {.loss = 1, .weight = 2};
  EXPECT_TRUE(Slice(0, 0, 0, 2, 1));
  tally.loss = 2;
  EXPECT_FALSE(Slice(0, 0, 0, 0, 1)) << "the one that would count";
  ASSERT_EQ(Of<RowRejected>().size(), 1u);
  EXPECT_TRUE(Of<RowRejected>()[0].touched);
}

// Whatever slice is the first, nothing of it is added.
TEST_F(Collector, AnAnswerOfOtherSamplesIsKnownByItsFirstSlice) {
  auto counts = std::make_shared<std::vector<BatchSchedule::Range>>();
  for (const uint32_t count : {3, 4}) counts->push_back({0, count});
  rows.Open(0, Form("none", 2, 0), counts);
  rows.Assign(0, 0, 0);
  tally = {.loss = 1, .weight = 4};
  EXPECT_FALSE(Slice(0, 0, 0, 2, 50));
  ASSERT_EQ(Of<RowRejected>().size(), 1u);
  EXPECT_FALSE(Of<RowRejected>()[0].touched);
}

TEST_F(Collector, CancelledWorkEndsSilently) {
  rows.Open(0, Form("none", 2, 0));
  rows.Assign(0, 0, 0);
  rows.Cancel(0, 0);
  EXPECT_TRUE(End(0, 0, 0, false));
  EXPECT_TRUE(events.empty());
  EXPECT_FALSE(End(0, 0, 0, false));  // Only once.
}

TEST_F(Collector, WorkGivenUpUnaskedIsARefusedAnswer) {
  rows.Open(0, Form("none", 2, 0));
  rows.Assign(0, 0, 0);
  rows.Assign(1, 0, 1);
  EXPECT_TRUE(Slice(0, 0, 0, 0, 1));
  rows.Cancel(1, 0);
  EXPECT_TRUE(End(0, 0, 0, false));
  ASSERT_EQ(Of<RowRejected>().size(), 1u);
  EXPECT_EQ(Of<RowRejected>()[0].worker, 0u);
  EXPECT_FALSE(Of<RowRejected>()[0].touched) << "the slice that came is right";
  rows.Assign(2, 0, 0);
  rows.Assign(1, 0, 1);
  Row(2, 0, 0, 1);
  EXPECT_TRUE(End(1, 0, 1, false));
  EXPECT_EQ(events.size(), 2u);
  Row(1, 0, 1, 2);
  EXPECT_EQ(Sum(), std::vector<float>(kLength, 3));
}

TEST_F(Collector, OldWorkGivenUpForNewWorkEndsSilently) {
  rows.Open(0, Form("none", 2, 0));
  rows.Assign(0, 0, 0);
  rows.Open(0, Form("none", 2, 0));
  EXPECT_TRUE(End(0, 0, 0, false));
  EXPECT_TRUE(events.empty());
}

// Vectors that no machine can hold, of which only the short last slice is sent.
TEST_F(Collector, WantOfMemoryForTheSumsIsNoFaultOfTheWorker) {
#if MOTLEY_ADDRESS_SANITIZER || MOTLEY_THREAD_SANITIZER
  GTEST_SKIP() << "the sanitizer ends the process where memory runs out";
#endif
  constexpr size_t kHuge = size_t{1} << 46;
  RowCollector large(2, 2 * kHuge + 4, kHuge, *parallel,
                     [this](const Event& event) { events.push_back(event); });
  large.Open(0, Form("none", 2, 0));
  large.Assign(0, 0, 0);
  Header header;
  header.kind = FrameKind::kGradient;
  header.offset = 2 * kHuge;
  header.total = 2 * kHuge + 4;
  header.length = 4 * sizeof(float);
  AlignedVector values(4, 1);
  Sign(header, values);
  const Result<bool> wanted = large.Begin(0, header, false, values);
  ASSERT_TRUE(wanted.ok() && *wanted) << wanted.status().ToString();
  values.assign(4, 1);
  EXPECT_EQ(large.Finish(0, values).code(), StatusCode::kResource);
  EXPECT_TRUE(events.empty());
}

TEST_F(Collector, WorkEndsInTheOrderItWasGiven) {
  rows.Open(0, Form("none", 3, 0));
  rows.Assign(0, 0, 0);
  rows.Assign(0, 0, 1);
  EXPECT_FALSE(End(0, 0, 1));
  EXPECT_TRUE(End(0, 0, 0, false));
  EXPECT_TRUE(End(0, 0, 1, false));
}

// Who keeps a row says so by its Pull; the answers follow under a code of their own.
TEST_F(Collector, RowsThatAreKeptArriveFromEachOfTheirWorkers) {
  const auto kept = Form("partial-coded", 3, 1);
  rows.Open(0, kept);
  for (const WorkerId worker : {0, 1}) rows.Assign(worker, 0, 2);
  EXPECT_TRUE(End(0, 0, 2));
  EXPECT_TRUE(End(1, 0, 2));
  const auto arrived = Of<RowArrived>();
  ASSERT_EQ(arrived.size(), 2u);
  EXPECT_EQ(arrived[0].worker, 0u);
  EXPECT_EQ(arrived[1].worker, 1u);
  EXPECT_EQ(arrived[1].row, 2u);
  EXPECT_FALSE(rows.decodable());
}

TEST_F(Collector, AVectorForARowThatIsKeptIsRefused) {
  rows.Open(0, Form("partial-coded", 3, 1));
  rows.Assign(0, 0, 2);
  EXPECT_FALSE(Slice(0, 0, 2, 0, 1));
  ASSERT_EQ(Of<RowRejected>().size(), 1u);
  EXPECT_FALSE(Of<RowRejected>()[0].touched);
}

// The same number means another row once the step was opened again.
TEST_F(Collector, ARowOfAnEarlierOpeningOfTheStepIsOnlyAWord) {
  rows.Open(0, Form("partial-coded", 3, 1));
  for (const WorkerId worker : {0, 1}) rows.Assign(worker, 0, 1);
  rows.CancelRow(0, 0, 1);
  rows.Open(0, Form("none", 3, 0));
  rows.Assign(0, 0, 1);
  EXPECT_TRUE(End(0, 0, 1));
  EXPECT_TRUE(End(1, 0, 1, false));
  EXPECT_TRUE(Of<RowLate>().empty());
  EXPECT_TRUE(Of<RowRejected>().empty());
  ASSERT_EQ(Of<WorkerProgress>().size(), 1u);
  EXPECT_EQ(Of<WorkerProgress>()[0].samples, 0u);
  Row(0, 0, 1, 5);
  ASSERT_EQ(Of<RowArrived>().size(), 1u);
}

// Else a liar would send the truth behind its lie, for the audit.
TEST_F(Collector, ASliceThatComesTwiceIsLoggedAsItCounted) {
  AnswerLog log(3, /*job=*/0, /*secret=*/3, [](StepId) { return true; });
  rows.SetLog(&log);
  rows.Open(0, Form("none", 3, 0));
  rows.Assign(1, 0, 1);
  EXPECT_TRUE(Slice(1, 0, 1, 0, -7));
  EXPECT_TRUE(Slice(1, 0, 1, 0, 3));
  const StepAnswers logged = log.Take();
  ASSERT_EQ(logged.answers.size(), 1u);
  const std::vector<float> counted(kSlice, -7);
  const double sketch = SketchOf(counted, SignsAt(logged.signs, 0, 0)).projection;
  ASSERT_NE(sketch, 0);
  EXPECT_DOUBLE_EQ(logged.answers[0].sketches[0], sketch);
}

}  // namespace
}  // namespace motley
