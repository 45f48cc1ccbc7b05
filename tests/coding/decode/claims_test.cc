// SPDX-License-Identifier: Apache-2.0
// Slices with the declared norm but wrong values. Their sketch reveals them in every kind of
// decoder.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>

#include "coding/decode/stream_decoder.h"
#include "coding/kernels/sketch.h"
#include "tests/coding/coded_job.h"

namespace motley {
namespace {

using ::testing::HasSubstr;

struct ClaimsCase {
  const char* code;
  bool keep_rows;
  size_t length;  // In two slices; long slices are added while they are checked.
};

// Damages that keep the norm, so that only the sketch can reveal them.
enum class Damage { kFlippedSign, kExchangedHalves, kShifted };

void Spoil(Damage damage, AlignedVector& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  if (damage == Damage::kFlippedSign) *middle = -*middle;
  if (damage == Damage::kExchangedHalves) std::rotate(values.begin(), middle, values.end());
  if (damage == Damage::kShifted) std::rotate(values.begin(), values.begin() + 1, values.end());
}

class Claims : public ::testing::TestWithParam<ClaimsCase> {
 protected:
  Claims()
      : form_(MustBuild(GetParam().code,
                        EqualRequest(6, std::string_view(GetParam().code) == "none" ? 0 : 1, 12))),
        job_(MakeJob(form_, GetParam().length, 1)),
        decoder_(form_, GetParam().length, GetParam().length / 2, *parallel_,
                 {.keep_rows = GetParam().keep_rows}) {}

  AlignedVector Values(RowId row, size_t slice) const {
    const float* from = job_.answers[row].data() + decoder_.slice_begin(slice);
    return {from, from + decoder_.slice_length(slice)};
  }
  Claim ClaimOf(RowId row, size_t slice) const {
    const SignKey key = SignKeyOf(row * 2 + slice);
    const Sketch sketch = reference::SketchOf(Values(row, slice), key);
    return {.norm_limit = std::sqrt(sketch.squares),
            .has_projection = true,
            .projection = sketch.projection,
            .key = key};
  }
  void AddRow(RowId row) {
    for (size_t slice = 0; slice < 2; ++slice) {
      AlignedVector values = Values(row, slice);
      const auto added = decoder_.AddSlice(row, slice, values, ClaimOf(row, slice));
      ASSERT_TRUE(added.ok()) << added.status().ToString();
    }
  }
  void ExpectSum() {
    ASSERT_TRUE(decoder_.Decodable());
    std::vector<float> sum(job_.sum.size());
    ASSERT_TRUE(decoder_.Finish(sum).ok());
    EXPECT_LE(RelativeError(sum, job_.sum), 2e-6);
  }

  const std::unique_ptr<ParallelFor> parallel_ = MakeSerialParallelFor();
  const CodeForm form_;
  const CodedJob job_;
  StreamDecoder decoder_;
};

TEST_P(Claims, SlicesBelowTheirNormAreRefused) {
  AlignedVector zeros(decoder_.slice_length(0), 0.0F);
  Claim claim = ClaimOf(0, 0);
  claim.norm_least = claim.norm_limit * 0.999;
  claim.projection = 0;
  const auto refused = decoder_.AddSlice(0, 0, zeros, claim);
  EXPECT_EQ(refused.code(), StatusCode::kDataError);
  EXPECT_THAT(refused.status().message(), HasSubstr("below the declared"));
  decoder_.Reset(form_);
  for (RowId row = 0; row < 6; ++row) AddRow(row);
  ExpectSum();
}

TEST_P(Claims, TrueOnesAreAdmitted) {
  for (RowId row = 0; row < 6; ++row) AddRow(row);
  ExpectSum();
}

TEST_P(Claims, ValuesOfTheRightNormInTheWrongPlacesAreRefused) {
  for (const Damage damage : {Damage::kFlippedSign, Damage::kExchangedHalves, Damage::kShifted}) {
    for (const RowId row : {0, 1}) {  // With empty sums, and with one row in them.
      decoder_.Reset(form_);
      if (row > 0) AddRow(0);
      AlignedVector values = Values(row, 0);
      Spoil(damage, values);
      const auto refused = decoder_.AddSlice(row, 0, values, ClaimOf(row, 0));
      if (refused.ok()) {  // Not needed: what it covers is present already.
        EXPECT_EQ(*refused, StreamDecoder::Outcome::kNotNeeded);
        continue;
      }
      EXPECT_EQ(refused.code(), StatusCode::kDataError);
      EXPECT_THAT(refused.status().message(), HasSubstr("has sketch"));
      EXPECT_FALSE(decoder_.Touched(row));
      if (decoder_.spoiled()) {
        EXPECT_GT(decoder_.slice_length(0), 16384u);
        decoder_.Reset(form_);
      }
      for (RowId all = 0; all < 6; ++all) AddRow(all);
      ExpectSum();
    }
  }
}

TEST_P(Claims, AnothersSliceIsRefused) {
  AlignedVector values = Values(0, 1);
  values.resize(decoder_.slice_length(0));
  Claim claim = ClaimOf(0, 1);
  claim.key = ClaimOf(0, 0).key;
  EXPECT_EQ(decoder_.AddSlice(0, 0, values, claim).code(), StatusCode::kDataError);
  claim.projection = std::nan("");
  values = Values(0, 0);
  EXPECT_EQ(decoder_.AddSlice(0, 0, values, claim).code(), StatusCode::kDataError);
}

INSTANTIATE_TEST_SUITE_P(
    Codes, Claims, ::testing::ValuesIn([] {
      std::vector<ClaimsCase> cases;
      for (const size_t length : {40, 2000, 70000}) {
        for (const char* code : {"none", "repetition", "heterogeneous", "rs"}) {
          for (const bool keep_rows : {false, true}) cases.push_back({code, keep_rows, length});
        }
      }
      return cases;
    }()),
    [](const auto& test) {
      return std::string(test.param.code) + (test.param.keep_rows ? "Kept" : "") +
             std::to_string(test.param.length);
    });

}  // namespace
}  // namespace motley
