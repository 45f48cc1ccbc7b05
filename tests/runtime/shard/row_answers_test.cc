// SPDX-License-Identifier: Apache-2.0
// Answers to rows of a code, which count slice by slice.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "base/sanitizer.h"
#include "coding/gradient_code.h"
#include "runtime/audit/answer_log.h"
#include "tests/runtime/shard/answers_rig.h"

namespace motley {
namespace {

class RowAnswers : public ShardedAnswers {
 protected:
  // Assigns a row of the open step to the worker.
  void Give(WorkerId worker, RowId row) {
    orders[{worker, row}].push_back(NumberOf(rows.GiveRow(worker, step_, row)));
  }
  // The oldest order for the row that the worker has not ended.
  uint32_t OrderOf(WorkerId worker, RowId row) {
    const std::vector<uint32_t>& given = orders[{worker, row}];
    return given.empty() ? 0 : given.front();
  }
  // Sends one slice of `value`s in answer to that order. Returns false when it was refused.
  bool Slice(WorkerId worker, StepId step, RowId row, size_t slice, float value,
             std::optional<double> norm = {}) {
    Header header = SliceHeader(step, OrderOf(worker, row), slice);
    header.tally = tally;
    Claim(header, value, norm);
    Answers::Slice arriving;
    const Result<bool> wanted = rows.Begin(worker, header, false, arriving);
    if (!wanted.ok() || !*wanted) return wanted.ok();
    EXPECT_EQ(arriving.values.size(), header.length / sizeof(float));
    std::fill(arriving.values.begin(), arriving.values.end(), value);
    return rows.Finish(worker, arriving).ok();
  }
  void Row(WorkerId worker, StepId step, RowId row, float value) {
    for (size_t slice = 0; slice < 3; ++slice) EXPECT_TRUE(Slice(worker, step, row, slice, value));
  }
  bool End(WorkerId worker, StepId step, RowId row, bool finished = true, uint32_t entries = 0) {
    wire::AnswerEndT end;
    end.step = step;
    end.order = OrderOf(worker, row);
    end.finished = finished;
    end.entries = entries;
    const bool ended = rows.OnEnd(worker, end).value();
    if (ended) orders[{worker, row}].erase(orders[{worker, row}].begin());
    return ended;
  }
  std::vector<float> Sum() { return Close(rows, step_); }
  void Open(StepId step, std::shared_ptr<const CodeForm> form, KnownCounts counts = nullptr) {
    step_ = step;
    EXPECT_TRUE(rows.Open({step, step}, std::move(form), std::move(counts)).ok());
  }

  Answers rows = Make({.workers = 3});
  StepId step_ = 0;  // The step that was opened last.
  std::map<std::pair<WorkerId, RowId>, std::vector<uint32_t>> orders;
  Tally tally;  // The tally that slices declare.
};

TEST_P(RowAnswers, TellsOfEachRowOnceAndOfDecodabilityOnce) {
  Open(0, Form("none", 3, 0));
  for (WorkerId w = 0; w < 3; ++w) Give(w, w);
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

TEST_P(RowAnswers, TellsWhichAnswersCouldLeave) {
  Open(0, Form("none", 3, 0));
  Give(0, 0);
  const uint32_t waits = NumberOf(rows.GiveRow(1, 0, 1, /*waits=*/true));
  wire::ProgressT ready;
  ready.ready = true;
  ready.order = OrderOf(0, 0);
  EXPECT_TRUE(rows.OnProgress(0, ready).ok()) << "it does not wait, so it only lives";
  EXPECT_TRUE(Of<RowReady>().empty());
  EXPECT_FALSE(rows.orders().FlushRow(0, 0, 0));
  ready.order = waits;
  EXPECT_TRUE(rows.OnProgress(1, ready).ok());
  ASSERT_EQ(Of<RowReady>().size(), 1u);
  EXPECT_EQ(Of<RowReady>()[0].worker, 1u);
  EXPECT_EQ(Of<RowReady>()[0].row, 1u);
  EXPECT_EQ(rows.orders().FlushRow(1, 0, 1)->order, waits);
  EXPECT_FALSE(rows.orders().FlushRow(1, 0, 2));
  EXPECT_EQ(rows.orders().FlushAll(1, 0).size(), 1u);
  Open(0, Form("none", 3, 0));  // The orders before do not count any more.
  EXPECT_TRUE(rows.OnProgress(1, ready).ok());
  EXPECT_EQ(Of<RowReady>().size(), 1u);
}

TEST_P(RowAnswers, LossAndWeightAreThoseOfTheFirstSlicesThatCounted) {
  Open(0, Form("none", 2, 0));
  for (WorkerId w = 0; w < 2; ++w) Give(w, w);
  tally = {.loss = 1e10, .weight = 5};
  Row(0, 0, 0, 1);
  tally = {.loss = 2, .weight = 7};
  Row(1, 0, 1, 2);
  EXPECT_EQ(Sum(), std::vector<float>(kLength, 3));
  EXPECT_EQ(sum().tally(), (Tally{.loss = 1e10 + 2, .weight = 12}));
  Open(1, Form("none", 2, 0));
  for (WorkerId w = 0; w < 2; ++w) {
    EXPECT_TRUE(End(w, 0, w));
    Give(w, w);
    Row(w, 1, w, 1);
  }
  EXPECT_EQ(Sum(), std::vector<float>(kLength, 2));
  EXPECT_EQ(sum().tally(), (Tally{.loss = 4, .weight = 14})) << "nothing of the step before";
}

TEST_P(RowAnswers, AnAnswerOfOtherSamplesIsRefusedBeforeItIsAdded) {
  auto counts = std::make_shared<std::vector<BatchSchedule::Range>>();
  for (const uint32_t count : {3, 4}) counts->push_back({0, count});
  Open(0, Form("none", 2, 0), counts);
  for (WorkerId w = 0; w < 2; ++w) Give(w, w);
  tally = {.loss = 1, .weight = 4};
  EXPECT_FALSE(Slice(0, 0, 0, 0, 50));
  ASSERT_EQ(Of<RowRejected>().size(), 1u);
  EXPECT_EQ(Of<RowRejected>()[0].worker, 0u);
  EXPECT_FALSE(Of<RowRejected>()[0].touched);
  Row(1, 0, 1, 2);
  EXPECT_EQ(Of<RowArrived>().size(), 1u);
  Give(1, 0);
  EXPECT_TRUE(End(1, 0, 1));
  tally.weight = 3;
  Row(1, 0, 0, 1);
  EXPECT_EQ(Sum(), std::vector<float>(kLength, 3));
  EXPECT_EQ(sum().tally().weight, 7.0);
}

TEST_P(RowAnswers, AnswersOfAnEarlierAttemptNeverCount) {
  Open(0, Form("none", 2, 0));
  Give(0, 0);
  EXPECT_TRUE(Slice(0, 0, 0, 0, 50));
  Open(0, Form("none", 2, 0));  // The same step again, perhaps with another code.
  EXPECT_TRUE(Slice(0, 0, 0, 1, 50));
  EXPECT_TRUE(Slice(0, 0, 0, 2, 50));
  EXPECT_TRUE(End(0, 0, 0));
  EXPECT_EQ(Of<WorkerProgress>().size(), 1u) << "a word; late is what the step has no use for";
  EXPECT_TRUE(Of<RowLate>().empty());
  Give(0, 0);
  Give(1, 1);
  Row(0, 0, 0, 1);
  Row(1, 0, 1, 2);
  EXPECT_EQ(Of<RowArrived>().size(), 2u);
  EXPECT_EQ(Sum(), std::vector<float>(kLength, 3));
}

TEST_P(RowAnswers, OrdersAreNumberedAnewInEachStepAndGoOnWhenItStartsAgain) {
  Open(4, Form("none", 2, 0));
  EXPECT_EQ(NumberOf(rows.GiveRow(0, step_, 1)), 1u);
  Open(4, Form("none", 2, 0));
  EXPECT_EQ(NumberOf(rows.GiveRow(0, step_, 1)), 2u);
  Open(5, Form("none", 2, 0));
  EXPECT_EQ(NumberOf(rows.GiveRow(0, step_, 1)), 1u);
}

TEST_P(RowAnswers, ACancelledRowIsNamedByItsNumber) {
  Open(0, Form("none", 3, 0));
  for (const RowId row : {0, 1}) Give(0, row);
  const auto cancel = rows.orders().CancelRow(0, 0, 1);
  ASSERT_TRUE(cancel);
  EXPECT_EQ(cancel->order, OrderOf(0, 1));
  EXPECT_TRUE(End(0, 0, 0, false));
  EXPECT_FALSE(rows.orders().CancelRow(0, 0, 0));
  EXPECT_EQ(rows.orders().Cancel(0, 0).order, 0u) << "all of them";
}

TEST_P(RowAnswers, AnswersFromParametersOfAnotherVersionAreRefused) {
  Open(4, Form("none", 3, 0));
  for (const WorkerId worker : {0, 1}) {
    Give(worker, worker);
    Header header = SliceHeader(4, OrderOf(worker, worker), 0);
    header.version = worker == 0 ? 3 : 5;
    Sign(header, std::vector<float>(kSlice, 1));
    Answers::Slice arriving;
    const Result<bool> wanted = rows.Begin(worker, header, false, arriving);
    EXPECT_EQ(wanted.code(), StatusCode::kDataError) << header.version;
    EXPECT_EQ(Of<RowRejected>().size(), worker + 1u) << header.version;
  }
}

TEST_P(RowAnswers, ARowThatWasCancelledMayEndUnfinishedAndOthersMayNot) {
  Open(0, Form("none", 3, 0));
  for (RowId row = 0; row < 3; ++row) Give(0, row);
  rows.orders().CancelRow(0, 0, 1);
  Row(0, 0, 0, 1);
  EXPECT_TRUE(End(0, 0, 0));
  EXPECT_TRUE(Slice(0, 0, 1, 0, 2)) << "it had begun";
  EXPECT_TRUE(End(0, 0, 1, false));
  EXPECT_TRUE(Of<RowRejected>().empty());
  EXPECT_TRUE(End(0, 0, 2, false));
  ASSERT_EQ(Of<RowRejected>().size(), 1u);
  EXPECT_EQ(Of<RowRejected>()[0].row, 2u);
}

TEST_P(RowAnswers, ALieInTheMiddleOfALongSliceMeansThatTheStepStartsAgain) {
  constexpr size_t kLong = 100000;
  Answers long_rows = Make({.workers = 2, .route = Route(kLong, 1), .slice_length = kLong});
  std::vector<uint32_t> given(2);
  Header header;
  header.kind = FrameKind::kGradient;
  header.total = kLong;
  header.length = kLong * sizeof(float);
  const auto send = [&](WorkerId worker, float middle) {
    header.row_id = given[worker];
    const std::vector<float> values(kLong, 1);
    Sign(header, values);
    Answers::Slice arriving;
    const Result<bool> wanted = long_rows.Begin(worker, header, false, arriving);
    EXPECT_TRUE(wanted.ok() && *wanted);
    std::copy(values.begin(), values.end(), arriving.values.begin());
    arriving.values[kLong / 2] = middle;
    return long_rows.Finish(worker, arriving).ok();
  };
  for (int attempt = 0; attempt < 2; ++attempt) {
    ASSERT_TRUE(long_rows.Open({0, 0}, Form("none", 2, 0)).ok());
    for (WorkerId w = 0; w < 2; ++w) given[w] = NumberOf(long_rows.GiveRow(w, 0, w));
    EXPECT_TRUE(send(0, 1));
    EXPECT_EQ(send(1, attempt == 0 ? std::nanf("") : 1), attempt == 1);
    wire::AnswerEndT end;
    for (WorkerId w = 0; w < 2; ++w) {
      end.order = given[w];
      EXPECT_TRUE(long_rows.OnEnd(w, end).value());
    }
  }
  ASSERT_EQ(Of<RowRejected>().size(), 1u);
  EXPECT_TRUE(Of<RowRejected>()[0].touched);
  EXPECT_EQ(Close(long_rows, 0), std::vector<float>(kLong, 2));
}

TEST_P(RowAnswers, ASliceThatArrivesAsItsStepClosesIsLate) {
  Open(0, Form("repetition", 2, 1));
  Give(0, 0);
  Give(1, 1);
  Header header = SliceHeader(0, OrderOf(1, 1), 0);
  header.norm = 1;
  Answers::Slice arriving;
  ASSERT_TRUE(*rows.Begin(1, header, false, arriving));
  Row(0, 0, 0, 5);
  EXPECT_EQ(Sum(), std::vector<float>(kLength, 5));
  EXPECT_TRUE(rows.Finish(1, arriving).ok());
  ASSERT_EQ(Of<RowLate>().size(), 1u);
  EXPECT_EQ(Of<RowLate>()[0].worker, 1u);
}

TEST_P(RowAnswers, ASliceThatArrivesAsItsStepStartsAgainIsNotAdded) {
  Open(0, Form("none", 2, 0));
  Give(0, 0);
  Header header = SliceHeader(0, OrderOf(0, 0), 0);
  header.norm = 100;
  Answers::Slice arriving;
  ASSERT_TRUE(*rows.Begin(0, header, false, arriving));
  Open(0, Form("none", 2, 0));
  std::fill(arriving.values.begin(), arriving.values.end(), 50.0f);
  EXPECT_TRUE(rows.Finish(0, arriving).ok());
  EXPECT_TRUE(End(0, 0, 0));
  Give(0, 0);
  Give(1, 1);
  Row(0, 0, 0, 1);
  Row(1, 0, 1, 2);
  EXPECT_EQ(Sum(), std::vector<float>(kLength, 3));
}

TEST_P(RowAnswers, TheSecondAnswerToARowIsLateAndNotAddedTwice) {
  Open(0, Form("none", 2, 0));
  Give(0, 0);
  Give(1, 1);
  Give(2, 0);
  Row(0, 0, 0, 1);
  Row(2, 0, 0, 1);
  EXPECT_TRUE(End(2, 0, 0));
  Row(1, 0, 1, 2);
  EXPECT_EQ(Of<RowLate>().size(), 1u);
  EXPECT_EQ(Of<RowArrived>().size(), 2u);
  EXPECT_EQ(Sum(), std::vector<float>(kLength, 3));
}

TEST_P(RowAnswers, SlicesOfOneRowMayComeFromTwoWorkers) {
  Open(0, Form("none", 2, 0));
  Give(0, 0);
  EXPECT_TRUE(Slice(0, 0, 0, 0, 1));
  rows.orders().Forget(0);
  Give(2, 0);
  Give(1, 1);
  Row(2, 0, 0, 1);
  Row(1, 0, 1, 2);
  EXPECT_EQ(Of<RowArrived>().size(), 2u);
  EXPECT_EQ(Sum(), std::vector<float>(kLength, 3));
}

TEST_P(RowAnswers, ALieInTheSumsIsReportedAsTouched) {
  Open(0, Form("none", 2, 0));
  Give(0, 0);
  EXPECT_TRUE(Slice(0, 0, 0, 0, 1));
  EXPECT_FALSE(Slice(0, 0, 0, 1, NAN, 3));
  EXPECT_TRUE(Slice(0, 0, 0, 2, 1));  // The slice is discarded; the row is refused already.
  ASSERT_EQ(Of<RowRejected>().size(), 1u);
  EXPECT_TRUE(Of<RowRejected>()[0].touched);
}

TEST_P(RowAnswers, ALieOfTheFirstSliceLeavesTheSumsClean) {
  Open(0, Form("none", 2, 0));
  Give(0, 0);
  EXPECT_FALSE(Slice(0, 0, 0, 0, 1e9f, 3));
  ASSERT_EQ(Of<RowRejected>().size(), 1u);
  EXPECT_FALSE(Of<RowRejected>()[0].touched);
}

TEST_P(RowAnswers, NormsMustBeAsDeclared) {
  const double inf = std::numeric_limits<double>::infinity();
  for (const double norm : {2.01, 1.99, std::nan(""), inf, -2.0, 1e31}) {
    events.clear();
    Open(0, Form("none", 2, 0));
    Give(0, 0);
    EXPECT_TRUE(Slice(0, 0, 0, 2, 100)) << "each slice has its own";
    EXPECT_FALSE(Slice(0, 0, 0, 0, 1, norm)) << norm;
    ASSERT_EQ(Of<RowRejected>().size(), 1u) << norm;
    EXPECT_TRUE(End(0, 0, 0));
  }
}

TEST_P(RowAnswers, SketchesMustBeNumbers) {
  Open(0, Form("none", 2, 0));
  Give(0, 0);
  Header header = SliceHeader(0, OrderOf(0, 0), 1);
  Claim(header, 1, {});
  header.sketch = std::nan("");
  Answers::Slice arriving;
  ASSERT_TRUE(*rows.Begin(0, header, false, arriving));
  std::fill(arriving.values.begin(), arriving.values.end(), 1.0F);
  EXPECT_EQ(rows.Finish(0, arriving).code(), StatusCode::kDataError);
}

// A worker first sends what it computed first.
TEST_P(RowAnswers, SlicesMayComeInAnyOrderAndCountOnce) {
  Open(0, Form("none", 2, 0));
  for (WorkerId w = 0; w < 2; ++w) Give(w, w);
  tally = {.loss = 1, .weight = 2};
  for (const size_t slice : {2, 0, 0, 1}) EXPECT_TRUE(Slice(0, 0, 0, slice, 1));
  EXPECT_EQ(Of<RowArrived>().size(), 1u);
  for (const size_t slice : {1, 2}) EXPECT_TRUE(Slice(1, 0, 1, slice, 2));
  EXPECT_FALSE(rows.decodable(step_));
  EXPECT_TRUE(Slice(1, 0, 1, 0, 2));
  EXPECT_EQ(Sum(), std::vector<float>(kLength, 3));
  EXPECT_EQ(sum().tally(), (Tally{.loss = 2, .weight = 4}));
}

TEST_P(RowAnswers, SlicesOfAnAnswerSayTheSameOfLossAndWeight) {
  Open(0, Form("none", 2, 0));
  Give(0, 0);
  tally = {.loss = 1, .weight = 2};
  EXPECT_TRUE(Slice(0, 0, 0, 2, 1));
  tally.loss = 2;
  EXPECT_FALSE(Slice(0, 0, 0, 0, 1)) << "the one that would count";
  ASSERT_EQ(Of<RowRejected>().size(), 1u);
  EXPECT_TRUE(Of<RowRejected>()[0].touched);
}

// The whole answer is refused, whichever slice comes first.
TEST_P(RowAnswers, AnAnswerOfOtherSamplesIsKnownByItsFirstSlice) {
  auto counts = std::make_shared<std::vector<BatchSchedule::Range>>();
  for (const uint32_t count : {3, 4}) counts->push_back({0, count});
  Open(0, Form("none", 2, 0), counts);
  Give(0, 0);
  tally = {.loss = 1, .weight = 4};
  EXPECT_FALSE(Slice(0, 0, 0, 2, 50));
  ASSERT_EQ(Of<RowRejected>().size(), 1u);
  EXPECT_FALSE(Of<RowRejected>()[0].touched);
}

TEST_P(RowAnswers, CancelledWorkEndsSilently) {
  Open(0, Form("none", 2, 0));
  Give(0, 0);
  rows.orders().Cancel(0, 0);
  EXPECT_TRUE(End(0, 0, 0, false));
  EXPECT_TRUE(events.empty());
  EXPECT_FALSE(End(0, 0, 0, false));  // An order ends only once.
}

TEST_P(RowAnswers, WorkGivenUpUnaskedIsARefusedAnswer) {
  Open(0, Form("none", 2, 0));
  Give(0, 0);
  Give(1, 1);
  EXPECT_TRUE(Slice(0, 0, 0, 0, 1));
  rows.orders().Cancel(1, 0);
  EXPECT_TRUE(End(0, 0, 0, false));
  ASSERT_EQ(Of<RowRejected>().size(), 1u);
  EXPECT_EQ(Of<RowRejected>()[0].worker, 0u);
  EXPECT_FALSE(Of<RowRejected>()[0].touched) << "the slice that came is right";
  Give(2, 0);
  Give(1, 1);
  Row(2, 0, 0, 1);
  EXPECT_TRUE(End(1, 0, 1, false));
  EXPECT_EQ(events.size(), 2u);
  Row(1, 0, 1, 2);
  EXPECT_EQ(Sum(), std::vector<float>(kLength, 3));
}

TEST_P(RowAnswers, OldWorkGivenUpForNewWorkEndsSilently) {
  Open(0, Form("none", 2, 0));
  Give(0, 0);
  Open(0, Form("none", 2, 0));
  EXPECT_TRUE(End(0, 0, 0, false));
  EXPECT_TRUE(events.empty());
}

TEST_P(RowAnswers, WorkEndsInTheOrderItWasGiven) {
  Open(0, Form("none", 3, 0));
  Give(0, 0);
  Give(0, 1);
  EXPECT_FALSE(End(0, 0, 1));
  EXPECT_FALSE(End(0, 0, 0, true, 1)) << "only the end of a list names entries";
  EXPECT_TRUE(End(0, 0, 0, false));
  EXPECT_TRUE(End(0, 0, 1, false));
}

// A worker announces a kept row by its Pull. The answers follow under a code of their own.
TEST_P(RowAnswers, RowsThatAreKeptArriveFromEachOfTheirWorkers) {
  const auto kept = Form("partial-coded", 3, 1);
  Open(0, kept);
  for (const WorkerId worker : {0, 1}) Give(worker, 2);
  EXPECT_TRUE(End(0, 0, 2));
  EXPECT_TRUE(End(1, 0, 2));
  const auto arrived = Of<RowArrived>();
  ASSERT_EQ(arrived.size(), 2u);
  EXPECT_EQ(arrived[0].worker, 0u);
  EXPECT_EQ(arrived[1].worker, 1u);
  EXPECT_EQ(arrived[1].row, 2u);
  EXPECT_FALSE(rows.decodable(step_));
}

TEST_P(RowAnswers, AVectorForARowThatIsKeptIsRefused) {
  Open(0, Form("partial-coded", 3, 1));
  Give(0, 2);
  EXPECT_FALSE(Slice(0, 0, 2, 0, 1));
  ASSERT_EQ(Of<RowRejected>().size(), 1u);
  EXPECT_FALSE(Of<RowRejected>()[0].touched);
}

// The same number means another row after the step was opened again.
TEST_P(RowAnswers, ARowOfAnEarlierOpeningOfTheStepIsOnlyAWord) {
  Open(0, Form("partial-coded", 3, 1));
  for (const WorkerId worker : {0, 1}) Give(worker, 1);
  rows.orders().CancelRow(0, 0, 1);
  Open(0, Form("none", 3, 0));
  Give(0, 1);
  EXPECT_TRUE(End(0, 0, 1));
  EXPECT_TRUE(End(1, 0, 1, false));
  EXPECT_TRUE(Of<RowLate>().empty());
  EXPECT_TRUE(Of<RowRejected>().empty());
  ASSERT_EQ(Of<WorkerProgress>().size(), 1u);
  EXPECT_EQ(Of<WorkerProgress>()[0].samples, 0u);
  Row(0, 0, 1, 5);
  ASSERT_EQ(Of<RowArrived>().size(), 1u);
}

// Otherwise a liar could send the truth after its lie, for the audit.
TEST_P(RowAnswers, ASliceThatComesTwiceIsLoggedAsItCounted) {
  AnswerLog log(3, /*job=*/0, /*secret=*/3, [](StepId) { return true; });
  rows.SetLog(&log);
  Open(0, Form("none", 3, 0));
  Give(1, 1);
  EXPECT_TRUE(Slice(1, 0, 1, 0, -7));
  EXPECT_TRUE(Slice(1, 0, 1, 0, 3));
  const StepAnswers logged = log.Take();
  ASSERT_EQ(logged.answers.size(), 1u);
  const std::vector<float> counted(kSlice, -7);
  const double sketch = SketchOf(counted, SignsAt(logged.signs, 0, 0)).projection;
  ASSERT_NE(sketch, 0);
  EXPECT_DOUBLE_EQ(logged.answers[0].sketches[0], sketch);
}

INSTANTIATE_TEST_SUITE_P(Shards, RowAnswers, testing::Values(1, 2, 3));

}  // namespace
}  // namespace motley
