// SPDX-License-Identifier: Apache-2.0
#include "coding/decode/stream_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string_view>

#include "tests/coding/coded_job.h"

namespace motley {
namespace {

using Outcome = StreamDecoder::Outcome;
using ::testing::HasSubstr;

AlignedVector SliceOf(const StreamDecoder& decoder, const CodedJob& job, RowId row, size_t slice) {
  const float* from = job.answers[row].data() + decoder.slice_begin(slice);
  return {from, from + decoder.slice_length(slice)};
}

Outcome Add(StreamDecoder& decoder, const CodedJob& job, RowId row, size_t slice) {
  AlignedVector values = SliceOf(decoder, job, row, slice);
  return decoder.AddSlice(row, slice, values, 1e9).value();
}

void AddRow(StreamDecoder& decoder, const CodedJob& job, RowId row) {
  for (size_t slice = 0; slice < decoder.slice_count(); ++slice) Add(decoder, job, row, slice);
}

std::vector<float> Sum(StreamDecoder& decoder) {
  std::vector<float> sum(decoder.length());
  const Status status = decoder.Finish(sum);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return sum;
}

class Stream : public ::testing::Test {
 protected:
  std::unique_ptr<ParallelFor> parallel_ = MakeSerialParallelFor();
  const CodeForm rs_ = MustBuild("rs", EqualRequest(5, 1, 10));
  const CodedJob rs_job_ = MakeJob(rs_, 100, 1);
  const CodeForm groups_ = MustBuild("repetition", EqualRequest(6, 1, 12));
  const CodedJob groups_job_ = MakeJob(groups_, 100, 1);
};

TEST_F(Stream, CutsVectorsIntoSlices) {
  const StreamDecoder decoder(rs_, 100, 32, *parallel_);
  EXPECT_EQ(decoder.length(), 100);
  EXPECT_EQ(decoder.slice_count(), 4);
  EXPECT_EQ(decoder.slice_begin(3), 96);
  EXPECT_EQ(decoder.slice_length(2), 32);
  EXPECT_EQ(decoder.slice_length(3), 4);
}

TEST_F(Stream, SlicesOfAStragglerThatArrivedCount) {
  StreamDecoder decoder(rs_, 100, 50, *parallel_);
  Add(decoder, rs_job_, 0, 0);  // The other slice of row 0 never comes.
  Add(decoder, rs_job_, 1, 1);  // The first slice of row 1 never comes.
  for (RowId row = 2; row < 5; ++row) AddRow(decoder, rs_job_, row);
  ASSERT_TRUE(decoder.Decodable());
  EXPECT_LE(RelativeError(Sum(decoder), rs_job_.sum), 2e-6);
}

TEST_F(Stream, OnceASliceDecodesTheRestIsNotNeeded) {
  StreamDecoder decoder(rs_, 100, 50, *parallel_);
  for (RowId row = 0; row < 4; ++row) EXPECT_EQ(Add(decoder, rs_job_, row, 0), Outcome::kAdded);
  EXPECT_EQ(Add(decoder, rs_job_, 4, 0), Outcome::kNotNeeded);
  EXPECT_EQ(Add(decoder, rs_job_, 3, 0), Outcome::kDuplicate);
  EXPECT_FALSE(decoder.Touched(4));
  EXPECT_FALSE(decoder.RowComplete(0));
  EXPECT_EQ(Add(decoder, rs_job_, 0, 1), Outcome::kAdded);
  EXPECT_TRUE(decoder.RowComplete(0));
  EXPECT_FALSE(decoder.Decodable());
}

TEST_F(Stream, KeepsOneVectorPerAccumulatorAndHalfOfOneHoweverManyAnswer) {
  const CodeForm form = MustBuild("rs", EqualRequest(40, 2, 40));
  const CodedJob job = MakeJob(form, 100, 1);
  StreamDecoder decoder(form, 100, 100, *parallel_);
  for (RowId row = 0; row < 38; ++row) {
    AddRow(decoder, job, row);
    EXPECT_EQ(decoder.held_bytes(), (3 * 100 + 50) * sizeof(float));
  }
  EXPECT_TRUE(decoder.Decodable());
}

TEST_F(Stream, RefusesValuesThatBelieTheirHeader) {
  StreamDecoder decoder(rs_, 100, 50, *parallel_);
  const float infinity = std::numeric_limits<float>::infinity();
  AlignedVector good = SliceOf(decoder, rs_job_, 0, 0);
  const double norm = std::sqrt(SumOfSquares(good));
  const auto refusal = [&](RowId row, size_t slice, AlignedVector values, double limit) {
    const auto outcome = decoder.AddSlice(row, slice, values, limit);
    EXPECT_EQ(outcome.code(), StatusCode::kDataError);
    return outcome.status().message();
  };
  EXPECT_THAT(refusal(0, 0, AlignedVector(49, 1), 1e9), HasSubstr("49 floats instead of 50"));
  EXPECT_THAT(refusal(0, 0, AlignedVector(50, infinity), 1e9), HasSubstr("not finite"));
  EXPECT_THAT(refusal(0, 0, good, norm * 0.99), HasSubstr("above the declared"));
  EXPECT_THAT(refusal(0, 0, good, std::nan("")), HasSubstr("above the declared"));
  EXPECT_THAT(refusal(5, 0, good, norm), HasSubstr("no slice 0 of row 5"));
  EXPECT_THAT(refusal(0, 2, good, norm), HasSubstr("no slice 2 of row 0"));
  EXPECT_FALSE(decoder.Touched(0));
  EXPECT_EQ(decoder.AddSlice(0, 0, good, static_cast<float>(norm)).value(), Outcome::kAdded);
  EXPECT_TRUE(decoder.Touched(0));
}

// Long slices are added while they are checked.
class LongStream : public ::testing::TestWithParam<const char*> {
 protected:
  static constexpr size_t kLength = 90000;
  static constexpr size_t kSlice = 60000;

  static CodeForm Form(std::string_view name) {
    return MustBuild(name, EqualRequest(6, name == "none" ? 0 : 1, 12));
  }

  const CodeForm form_ = Form(GetParam());
  const CodedJob job_ = MakeJob(form_, kLength, 1);
};

TEST_P(LongStream, ALieInTheMiddleOfASliceSpoilsTheSumsUntilReset) {
  for (const size_t threads : {1, 3}) {
    const auto parallel = MakeThreadParallelFor(threads);
    StreamDecoder decoder(form_, kLength, kSlice, *parallel);
    const std::vector<RowId> rows = {0, 1, 2, 3, 4, 5};
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), 1e20F}) {
      AlignedVector lie = SliceOf(decoder, job_, 0, 0);
      lie[40000] = bad;
      // A refused first row leaves nothing that the next one would not overwrite.
      EXPECT_EQ(decoder.AddSlice(0, 0, lie, 1e9).code(), StatusCode::kDataError);
      EXPECT_FALSE(decoder.spoiled());
      EXPECT_FALSE(decoder.Touched(0));
      for (RowId row : rows) AddRow(decoder, job_, row);
      ASSERT_TRUE(decoder.Decodable());
      EXPECT_LE(RelativeError(Sum(decoder), job_.sum), 2e-6);

      decoder.Reset(form_);
      Add(decoder, job_, 0, 0);
      lie = SliceOf(decoder, job_, 1, 0);  // Added at once, since row 0 is present.
      lie[40000] = bad;
      EXPECT_EQ(decoder.AddSlice(1, 0, lie, 1e9).code(), StatusCode::kDataError);
      EXPECT_TRUE(decoder.spoiled());
      EXPECT_FALSE(decoder.Touched(1));
      for (RowId row : rows) AddRow(decoder, job_, row);
      std::vector<float> sum(kLength);
      EXPECT_EQ(decoder.Finish(sum).code(), StatusCode::kDataError);

      decoder.Reset(form_);
      EXPECT_FALSE(decoder.spoiled());
      for (RowId row : rows) AddRow(decoder, job_, row);
      EXPECT_LE(RelativeError(Sum(decoder), job_.sum), 2e-6);
      decoder.Reset(form_);
    }
  }
}

// The answer is not added to the sums, but its result overwrote one of the terms.
TEST_P(LongStream, ALieInTheAnswerWithWhichASliceDecodesSpoilsItToo) {
  const auto parallel = MakeSerialParallelFor();
  StreamDecoder decoder(form_, kLength, kSlice, *parallel);
  RowId last = 0;
  for (RowId row = 0; row < 6; ++row) {
    AlignedVector values = SliceOf(decoder, job_, row, 0);
    if (decoder.AddSlice(row, 0, values, 1e9).value() == Outcome::kAdded) last = row;
  }
  for (const size_t place : {10u, 40000u}) {
    decoder.Reset(form_);
    for (RowId row = 0; row < last; ++row) Add(decoder, job_, row, 0);
    AlignedVector lie = SliceOf(decoder, job_, last, 0);
    lie[place] = std::numeric_limits<float>::infinity();
    EXPECT_EQ(decoder.AddSlice(last, 0, lie, 1e9).code(), StatusCode::kDataError);
    EXPECT_EQ(decoder.spoiled(), last > 0);
    EXPECT_FALSE(decoder.Touched(last));
    EXPECT_FALSE(decoder.Decodable());
  }
  decoder.Reset(form_);
  for (RowId row = 0; row < 6; ++row) AddRow(decoder, job_, row);
  EXPECT_LE(RelativeError(Sum(decoder), job_.sum), 2e-6);
}

TEST_P(LongStream, ASliceThatDecodesIsAtHomeBeforeTheOthers) {
  const auto parallel = MakeSerialParallelFor();
  StreamDecoder decoder(form_, kLength, kSlice, *parallel);
  std::vector<float> home(kLength, -1);
  decoder.SetHome(home);
  Add(decoder, job_, 0, 0);
  EXPECT_FALSE(decoder.Decodable(0));
  for (RowId row = 1; row < 6; ++row) Add(decoder, job_, row, 0);
  EXPECT_TRUE(decoder.Decodable(0));
  EXPECT_FALSE(decoder.Decodable(1));
  const std::vector<float> first(home.begin(), home.begin() + kSlice);
  EXPECT_LE(RelativeError(first, {job_.sum.begin(), job_.sum.begin() + kSlice}), 2e-6);

  for (RowId row = 0; row < 6; ++row) Add(decoder, job_, row, 1);
  EXPECT_TRUE(decoder.Decodable(1));
  EXPECT_TRUE(std::equal(first.begin(), first.end(), home.begin()));
  decoder.Reset(form_);
  EXPECT_FALSE(decoder.Decodable(0));
}

TEST_P(LongStream, SumsAtHomeAreTheSameBitsAndTakeLess) {
  const auto parallel = MakeSerialParallelFor();
  StreamDecoder decoder(form_, kLength, kSlice, *parallel);
  for (RowId row = 0; row < 6; ++row) AddRow(decoder, job_, row);
  const size_t held = decoder.held_bytes();
  const std::vector<float> expected = Sum(decoder);

  StreamDecoder at_home(form_, kLength, kSlice, *parallel);
  std::vector<float> home(kLength);
  for (int step = 0; step < 2; ++step) {
    at_home.SetHome(home);
    for (RowId row = 0; row < 6; ++row) AddRow(at_home, job_, row);
    EXPECT_EQ(at_home.held_bytes(), held - kLength * sizeof(float));
    EXPECT_EQ(home, expected);  // Finish has nothing left to do.
    std::vector<float> elsewhere(kLength);
    ASSERT_TRUE(at_home.Finish(step == 0 ? home : elsewhere).ok());
    EXPECT_EQ(step == 0 ? home : elsewhere, expected);
  }
  at_home.SetHome({});
  std::fill(home.begin(), home.end(), 7.0F);
  for (RowId row = 0; row < 6; ++row) AddRow(at_home, job_, row);
  EXPECT_EQ(Sum(at_home), expected);
  EXPECT_EQ(home, std::vector<float>(kLength, 7));
  at_home.SetHome(home);
  EXPECT_LT(at_home.held_bytes(), held);  // The decoder freed its own buffer.
}

INSTANTIATE_TEST_SUITE_P(Codes, LongStream,
                         ::testing::Values("none", "repetition", "cyclic", "heterogeneous", "rs"));

// Short slices are checked before anything is written, so another worker may complete the row.
TEST_F(Stream, ARefusedAnswerLeavesAShortSliceAsItWas) {
  StreamDecoder decoder(rs_, 100, 50, *parallel_);
  const CodedJob job = MakeJob(rs_, 100, 1);
  const auto last = static_cast<RowId>(rs_.workers - rs_.stragglers - 1);
  for (RowId row = 0; row < last; ++row) AddRow(decoder, job, row);
  AlignedVector lie = SliceOf(decoder, job, last, 0);
  lie[20] += 100;
  EXPECT_EQ(decoder.AddSlice(last, 0, lie, 50).code(), StatusCode::kDataError);
  EXPECT_FALSE(decoder.spoiled());
  AddRow(decoder, job, last);
  ASSERT_TRUE(decoder.Decodable());
  EXPECT_LE(RelativeError(Sum(decoder), job.sum), 2e-6);
}

TEST_F(Stream, EachSliceIsAtHomeOnceItDecodesAlsoWhereGradientsAreCutIntoParts) {
  CodeRequest request = EqualRequest(6, 1, 12);
  request.parts = 2;
  const CodeForm form = MustBuild("short", request);
  const CodedJob job = MakeJob(form, 100, 1);
  StreamDecoder decoder(form, 100, 32, *parallel_);
  for (RowId row = 0; row < 6; ++row) AddRow(decoder, job, row);
  const std::vector<float> expected = Sum(decoder);
  const size_t energy = form.field == Field::kReal ? 0 : decoder.answer_length() / 2;
  EXPECT_EQ(decoder.held_bytes() / sizeof(float),
            form.accumulators * decoder.answer_length() + energy + decoder.length());

  StreamDecoder at_home(form, 100, 32, *parallel_);
  std::vector<float> home(100, 7);
  at_home.SetHome(home);
  for (RowId row = 0; row < 6; ++row) Add(at_home, job, row, 0);
  // The first slice of each part; nothing came of the others.
  for (size_t t = 0; t < 100; ++t) {
    const bool came = t % at_home.answer_length() < 32;
    EXPECT_EQ(home[t], came ? expected[t] : 7) << t;
  }
  for (RowId row = 0; row < 6; ++row) AddRow(at_home, job, row);
  EXPECT_EQ(home, expected);
  EXPECT_EQ(Sum(at_home), expected);
}

TEST_F(Stream, RepetitionIsBitEqualWhoeverAnswersInWhateverOrder) {
  StreamDecoder decoder(groups_, 100, 30, *parallel_);
  for (RowId row : {0, 2, 4}) AddRow(decoder, groups_job_, row);
  const std::vector<float> expected = Sum(decoder);
  EXPECT_LE(RelativeError(expected, groups_job_.sum), 1e-6);
  for (const std::vector<RowId>& rows :
       {std::vector<RowId>{5, 3, 1}, {4, 0, 2}, {2, 4, 3}, {1, 4, 0, 5, 3}}) {
    decoder.Reset(groups_);
    EXPECT_FALSE(decoder.Decodable());
    for (RowId row : rows) AddRow(decoder, groups_job_, row);
    ASSERT_TRUE(decoder.Decodable());
    const std::vector<float> sum = Sum(decoder);
    EXPECT_EQ(std::memcmp(sum.data(), expected.data(), 100 * sizeof(float)), 0);
    EXPECT_EQ(decoder.residual(), 0);
    EXPECT_EQ(decoder.amplification(), 1);
  }
}

TEST_F(Stream, ATwinIsNotNeededAndAnEarlyAnswerWaitsWhole) {
  StreamDecoder decoder(groups_, 100, 100, *parallel_);
  EXPECT_EQ(Add(decoder, groups_job_, 1, 0), Outcome::kAdded);
  EXPECT_EQ(decoder.held_bytes(), 2 * 100 * sizeof(float));  // The sum, and a waiting slice.
  EXPECT_EQ(Add(decoder, groups_job_, 4, 0), Outcome::kNotNeeded);
  EXPECT_EQ(Add(decoder, groups_job_, 1, 0), Outcome::kDuplicate);
  EXPECT_TRUE(decoder.RowComplete(4));
  EXPECT_FALSE(decoder.Touched(4));
  EXPECT_EQ(Add(decoder, groups_job_, 0, 0), Outcome::kAdded);
  EXPECT_EQ(decoder.held_bytes(), 100 * sizeof(float));
}

TEST_F(Stream, AnswersThatFindNoRoomToWaitAreAddedAsTheyCome) {
  constexpr size_t kFloats = 100;
  const CodeForm form = MustBuild("none", EqualRequest(9, 0, 18));
  const CodedJob job = MakeJob(form, kFloats, 1);
  const auto sum = [&](const std::vector<RowId>& rows, DecodeLimits limits) {
    StreamDecoder decoder(form, kFloats, 30, *parallel_, limits);
    for (const RowId row : rows) {
      AddRow(decoder, job, row);
      const size_t most = std::max(limits.waiting_bytes, kFloats * sizeof(float));
      EXPECT_LE(decoder.held_bytes(), kFloats * sizeof(float) + most);
    }
    EXPECT_TRUE(decoder.Decodable());
    return Sum(decoder);
  };
  const std::vector<float> in_order = sum({0, 1, 2, 3, 4, 5, 6, 7, 8}, {});
  for (const std::vector<RowId>& rows : {std::vector<RowId>{8, 7, 6, 5, 4, 3, 2, 1, 0},
                                         {4, 8, 0, 7, 1, 6, 2, 5, 3},
                                         {8, 0, 1, 2, 3, 4, 5, 6, 7}}) {
    EXPECT_EQ(sum(rows, {}), in_order);  // There is room for all.
    EXPECT_EQ(sum(rows, {.waiting_bytes = 8 * kFloats * sizeof(float)}), in_order);
    const std::vector<float> as_they_came = sum(rows, {.waiting_bytes = 0});
    EXPECT_LE(RelativeError(as_they_came, job.sum), 1e-6);
    EXPECT_EQ(sum(rows, {.waiting_bytes = 0}), as_they_came);
  }
  EXPECT_NE(sum({8, 7, 6, 5, 4, 3, 2, 1, 0}, {.waiting_bytes = 0}), in_order);
  EXPECT_EQ(sum({8, 0, 1, 2, 3, 4, 5, 6, 7}, {.waiting_bytes = 0}), in_order);  // One slice fits.
}

TEST_F(Stream, ALieAmongAnswersThatFindNoRoomIsNeverInTheSum) {
  const CodeForm form = MustBuild("none", EqualRequest(4, 0, 8));
  constexpr size_t kFloats = 60000;  // More than one task: checked while they are added.
  const CodedJob job = MakeJob(form, kFloats, 1);
  StreamDecoder decoder(form, kFloats, kFloats, *parallel_, {.waiting_bytes = 0});
  AlignedVector lie = SliceOf(decoder, job, 3, 0);
  lie[40000] = 1e20F;
  EXPECT_EQ(decoder.AddSlice(3, 0, lie, 1e9).code(), StatusCode::kDataError);
  Add(decoder, job, 3, 0);  // Waits.
  lie = SliceOf(decoder, job, 2, 0);
  lie[40000] = 1e20F;
  EXPECT_EQ(decoder.AddSlice(2, 0, lie, 1e9).code(), StatusCode::kDataError);
  EXPECT_FALSE(decoder.spoiled());  // The sum was empty; the next slice overwrites it.
  Add(decoder, job, 2, 0);
  lie = SliceOf(decoder, job, 1, 0);
  lie[40000] = 1e20F;
  EXPECT_EQ(decoder.AddSlice(1, 0, lie, 1e9).code(), StatusCode::kDataError);
  EXPECT_TRUE(decoder.spoiled());
  EXPECT_FALSE(decoder.Touched(1));
  decoder.Reset(form);
  lie = SliceOf(decoder, job, 2, 0);
  lie[40000] = 1e20F;
  Add(decoder, job, 3, 0);
  EXPECT_EQ(decoder.AddSlice(2, 0, lie, 1e9).code(), StatusCode::kDataError);
  for (const RowId row : {2, 1, 0}) AddRow(decoder, job, row);
  EXPECT_FALSE(decoder.spoiled());
  ASSERT_TRUE(decoder.Decodable());
  EXPECT_LE(RelativeError(Sum(decoder), job.sum), 1e-6);
}

CodeForm Overlapping() {
  CodeForm form;
  form.name = "leases";
  form.workers = 5;
  form.partitions = 4;
  form.rows = {{{0, 1}, {1, 1}}, {{2, 1}, {3, 1}}, {{0, 1}}, {{1, 1}, {2, 1}}, {{3, 1}}};
  EXPECT_TRUE(Validate(form).ok());
  return form;
}

TEST_F(Stream, OverlappingTilesWaitForACover) {
  const CodeForm form = Overlapping();
  const CodedJob job = MakeJob(form, 20, 1);
  StreamDecoder decoder(form, 20, 20, *parallel_);
  AddRow(decoder, job, 0);
  AddRow(decoder, job, 3);
  AddRow(decoder, job, 4);
  EXPECT_FALSE(decoder.Decodable());
  EXPECT_EQ(decoder.held_bytes(), 4 * 20 * sizeof(float));
  AddRow(decoder, job, 2);
  ASSERT_TRUE(decoder.Decodable());
  EXPECT_EQ(decoder.held_bytes(), 20 * sizeof(float));
  EXPECT_LE(RelativeError(Sum(decoder), job.sum), 1e-6);
}

// The address of the buffer that a decoder returns for one that waits.
const float* Swapped(StreamDecoder& decoder, const CodedJob& job, RowId row) {
  AlignedVector values = SliceOf(decoder, job, row, 0);
  EXPECT_EQ(decoder.AddSlice(row, 0, values, 1e9).value(), Outcome::kAdded);
  return values.data();
}

TEST_F(Stream, BuffersThatWaitedWhenAStepWasLeftAreUsedAgain) {
  StreamDecoder decoder(groups_, 100, 100, *parallel_);
  AlignedVector values = SliceOf(decoder, groups_job_, 2, 0);
  const float* const waits = values.data();
  EXPECT_EQ(decoder.AddSlice(2, 0, values, 1e9).value(), Outcome::kAdded);
  EXPECT_TRUE(values.empty());
  decoder.Reset(groups_);
  EXPECT_EQ(Swapped(decoder, groups_job_, 2), waits);
}

TEST_F(Stream, BuffersThatWaitedForACoverAreUsedAgain) {
  const CodeForm form = Overlapping();
  const CodedJob job = MakeJob(form, 20, 1);
  StreamDecoder decoder(form, 20, 20, *parallel_);
  std::vector<const float*> waited;
  for (const RowId row : {0, 1}) {
    AlignedVector values = SliceOf(decoder, job, row, 0);
    waited.push_back(values.data());
    EXPECT_EQ(decoder.AddSlice(row, 0, values, 1e9).value(), Outcome::kAdded);
  }
  ASSERT_TRUE(decoder.Decodable());
  decoder.Reset(form);
  EXPECT_THAT(waited, ::testing::Contains(Swapped(decoder, job, 0)));
}

// More than 64 MiB, the default for waiting slices.
TEST_F(Stream, AllBuffersThatMayWaitAreKept) {
  constexpr size_t kFloats = 2'400'000;
  const CodeForm form = MustBuild("none", EqualRequest(9, 0, 9));
  StreamDecoder decoder(form, kFloats, kFloats, *parallel_, {.waiting_bytes = 9 * 4 * kFloats});
  for (const bool again : {false, true}) {
    for (RowId row = 8; row > 0; --row) {
      AlignedVector values(kFloats, 1);
      EXPECT_EQ(decoder.AddSlice(row, 0, values, 1e9).value(), Outcome::kAdded);
      EXPECT_EQ(values.capacity() > 0, again) << row;
    }
    decoder.Reset(form);
  }
}

TEST_F(Stream, ThreadsGiveTheSameBitsAsOne) {
  const CodeForm form = MustBuild("heterogeneous", UnequalRequest(6, 2, 24, 1));
  const size_t length = 70000;  // Several tasks per slice.
  const CodedJob job = MakeJob(form, length, 1);
  std::vector<std::vector<float>> sums;
  for (size_t threads : {1, 3}) {
    const auto parallel = MakeThreadParallelFor(threads);
    StreamDecoder decoder(form, length, 50000, *parallel);
    for (RowId row = 0; row < 4; ++row) AddRow(decoder, job, row);
    sums.push_back(Sum(decoder));
  }
  EXPECT_LE(RelativeError(sums[0], job.sum), 2e-6);
  EXPECT_EQ(sums[0], sums[1]);
}

TEST_F(Stream, ResetStartsCleanWithAnotherCode) {
  StreamDecoder decoder(rs_, 100, 30, *parallel_);
  for (RowId row = 0; row < 3; ++row) AddRow(decoder, rs_job_, row);
  decoder.Reset(groups_);
  EXPECT_FALSE(decoder.Touched(0));
  for (RowId row : {1, 3, 5}) AddRow(decoder, groups_job_, row);
  EXPECT_LE(RelativeError(Sum(decoder), groups_job_.sum), 1e-6);
  decoder.Reset(rs_);
  for (RowId row = 1; row < 5; ++row) AddRow(decoder, rs_job_, row);
  EXPECT_LE(RelativeError(Sum(decoder), rs_job_.sum), 2e-6);
}

TEST_F(Stream, FinishNeedsRoomAndEverySlice) {
  StreamDecoder decoder(rs_, 100, 30, *parallel_);
  std::vector<float> sum(100);
  EXPECT_EQ(decoder.Finish(sum).code(), StatusCode::kNotDecodable);
  sum.pop_back();
  EXPECT_EQ(decoder.Finish(sum).code(), StatusCode::kInvalidArgument);
}

TEST_F(Stream, RowsThatHoldNothingAreComplete) {
  const CodeForm form = MustBuild("none", {{1, 1e-6, 1}, 0, 8, 1});
  const CodedJob job = MakeJob(form, 20, 1);
  StreamDecoder decoder(form, 20, 10, *parallel_);
  EXPECT_TRUE(decoder.RowComplete(1));
  EXPECT_EQ(Add(decoder, job, 1, 0), Outcome::kNotNeeded);
  AddRow(decoder, job, 0);
  AddRow(decoder, job, 2);
  EXPECT_LE(RelativeError(Sum(decoder), job.sum), 1e-6);
}

}  // namespace
}  // namespace motley
