// SPDX-License-Identifier: Apache-2.0
// Answers to one of two shards, as the node that owns the shard takes them.
#include "runtime/shard/range_answers.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/runtime/shard/answers_rig.h"

namespace motley {
namespace {

class RangeAnswersTest : public AnswersRig {
 protected:
  RangeAnswersTest() : AnswersRig(2) {}

  Header HeaderOf(StepId step, uint32_t attempt, RowId row, size_t slice, float value) const {
    Header header = SliceHeader(step, 1, slice);
    header.attempt = attempt;
    header.row = row;
    header.tally = {value, 1};
    Claim(header, value, {});
    return header;
  }
  // Sends a slice. False: it was discarded.
  Result<bool> Send(WorkerId worker, const Header& header, float value) {
    RangeAnswers::Slice slice;
    const Result<bool> wanted = range.Begin(worker, header, slice);
    if (!wanted.ok() || !*wanted) return wanted;
    EXPECT_EQ(slice.values.size(), header.length / sizeof(float));
    std::fill(slice.values.begin(), slice.values.end(), value);
    MOTLEY_RETURN_IF_ERROR(range.Finish(worker, slice));
    return true;
  }
  // Sends both slices of the range: the worker's answer to the row of the same number, or its first
  // vector.
  void Row(WorkerId worker, StepId step, uint32_t attempt, RowId row, float value) {
    for (const size_t slice : {1, 2}) {
      EXPECT_TRUE(Send(worker, HeaderOf(step, attempt, row, slice, value), value).ok());
    }
  }
  void Open(StepId step, uint32_t attempt, std::shared_ptr<const CodeForm> form) {
    range.Open({step, step}, attempt, std::move(form));
  }
  std::vector<float> Sum() {
    EXPECT_TRUE(range.EndSum().ok());
    return {range.values()->begin(), range.values()->begin() + 6};
  }
  static std::vector<float> All(float value) { return std::vector<float>(6, value); }

  std::vector<RowId> arrived;
  int decodable = 0;
  std::vector<std::string> refused;
  bool touched = false;
  SpareSlices spare;
  RangeAnswers range{{Route::Parse(kLength, {4, 10}).value(), /*shard=*/1, kSlice,
                      WireFormat::kFloat32, /*keep_rows=*/false, /*most_waiting=*/12},
                     spare,
                     *parallel,
                     /*home=*/{},
                     {[this](const RangeAnswers::Answer& answer) { arrived.push_back(answer.row); },
                      [this] { ++decodable; },
                      [this](const RangeAnswers::Answer&, bool part, const Status& why) {
                        refused.push_back(why.ToString());
                        touched = part;
                      },
                      nullptr}};
};

TEST_F(RangeAnswersTest, ReportsEachRowOnceAndThatTheyAreEnough) {
  Open(3, 1, Form("none", 2, 0));
  Row(1, 3, 1, 1, 2);
  Row(1, 3, 1, 1, 2);
  EXPECT_EQ(decodable, 0);
  Row(0, 3, 1, 0, 5);
  EXPECT_EQ(arrived, (std::vector<RowId>{1, 0}));
  EXPECT_EQ(decodable, 1);
  EXPECT_EQ(Sum(), All(7));
  EXPECT_EQ(range.tally().loss.real(), 7);
  EXPECT_EQ(range.tally().weight.real(), 2);
}

TEST_F(RangeAnswersTest, SlicesThatOvertakeTheirUpdateWaitForIt) {
  Open(3, 1, Form("none", 2, 0));
  Row(0, 4, 1, 0, 5);
  EXPECT_TRUE(arrived.empty());
  Open(4, 1, Form("none", 2, 0));
  EXPECT_EQ(arrived, (std::vector<RowId>{0}));
  Row(1, 4, 1, 1, 2);
  EXPECT_EQ(Sum(), All(7));
}

TEST_F(RangeAnswersTest, OnlySoManySlicesOfAWorkerWait) {
  Open(3, 1, Form("none", 2, 0));
  Row(0, 4, 1, 0, 5);
  Row(0, 4, 1, 1, 5);
  EXPECT_EQ(Send(0, HeaderOf(4, 1, 0, 2, 5), 5).code(), StatusCode::kDataError);
  Row(1, 4, 1, 0, 5);  // What one worker sends leaves the others their room.
  Row(1, 4, 1, 1, 5);
}

// A worker that has begun another attempt will send no more of the one before.
TEST_F(RangeAnswersTest, SlicesOfAnAttemptWaitUntilTheNextOne) {
  Open(3, 1, Form("none", 2, 0));
  for (const uint32_t attempt : {1, 2, 3}) {
    Row(0, 4, attempt, 0, 5);
    Row(0, 4, attempt, 1, 2);
  }
  Open(4, 1, Form("none", 2, 0));
  EXPECT_TRUE(arrived.empty());
  Open(4, 3, Form("none", 2, 0));
  EXPECT_EQ(arrived, (std::vector<RowId>{0, 1}));
  EXPECT_EQ(Sum(), All(7));
}

TEST_F(RangeAnswersTest, AnotherAttemptStartsFromNothing) {
  Open(3, 1, Form("none", 2, 0));
  Row(0, 3, 1, 0, 5);
  Open(3, 2, Form("none", 2, 0));
  EXPECT_FALSE(Send(1, HeaderOf(3, 1, 1, 1, 2), 2).value());
  Row(0, 3, 2, 0, 1);
  Row(1, 3, 2, 1, 2);
  EXPECT_EQ(Sum(), All(3));
  EXPECT_FALSE(Send(1, HeaderOf(3, 2, 1, 1, 2), 2).value());  // The sum has ended.
}

TEST_F(RangeAnswersTest, VectorsOfListsCountWhenTheyAreAdded) {
  Open(3, 1, nullptr);
  Row(0, 3, 1, 0, 5);
  Row(1, 3, 1, 0, 2);
  EXPECT_EQ(arrived.size(), 2u);
  EXPECT_TRUE(range.Add({1, 1, 0, {}}).ok());
  EXPECT_EQ(range.Add({1, 1, 1, {}}).code(), StatusCode::kDataError);
  EXPECT_EQ(Sum(), All(2));
}

TEST_F(RangeAnswersTest, RefusesAVectorThatIsNotWhatItDeclares) {
  Open(3, 1, nullptr);
  ASSERT_TRUE(Send(0, HeaderOf(3, 1, 0, 1, 5), 6).ok());
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_FALSE(touched);
  EXPECT_FALSE(Send(0, HeaderOf(3, 1, 0, 2, 5), 5).value());  // The rest of it is not wanted.
}

TEST_F(RangeAnswersTest, RefusesSlicesThatDoNotFitEachOther) {
  Open(3, 1, nullptr);
  ASSERT_TRUE(Send(0, HeaderOf(3, 1, 0, 1, 5), 5).ok());
  ASSERT_TRUE(Send(0, HeaderOf(3, 1, 0, 1, 5), 5).ok());  // Twice.
  ASSERT_TRUE(Send(1, HeaderOf(3, 1, 0, 1, 5), 5).ok());
  ASSERT_TRUE(Send(1, HeaderOf(3, 1, 0, 2, 6), 6).ok());  // Another loss.
  EXPECT_EQ(refused.size(), 2u);
  EXPECT_TRUE(arrived.empty());
}

TEST_F(RangeAnswersTest, SaysThatARefusedRowIsInTheSum) {
  Open(3, 1, Form("none", 2, 0));
  ASSERT_TRUE(Send(0, HeaderOf(3, 1, 0, 1, 5), 5).ok());
  ASSERT_TRUE(Send(0, HeaderOf(3, 1, 0, 2, 6), 6).ok());
  EXPECT_EQ(refused.size(), 1u);
  EXPECT_TRUE(touched);
}

TEST_F(RangeAnswersTest, SlicesOfNoAnswerAreErrors) {
  Open(3, 1, Form("none", 2, 0));
  const Header fits = HeaderOf(3, 1, 0, 1, 5);
  Header other = HeaderOf(3, 1, 0, 0, 5);  // The other shard has this range.
  EXPECT_EQ(Send(0, other, 5).code(), StatusCode::kDataError);
  other = fits;
  other.version = 2;
  EXPECT_EQ(Send(0, other, 5).code(), StatusCode::kDataError);
  other = fits;
  other.row = 2;
  EXPECT_EQ(Send(0, other, 5).code(), StatusCode::kDataError);
  EXPECT_TRUE(Send(0, fits, 5).ok());
}

}  // namespace
}  // namespace motley
