// SPDX-License-Identifier: Apache-2.0
// Stream decoders that keep rows are exact whenever the others are. Otherwise they give the best
// sum of the present rows.
#include <gtest/gtest.h>

#include <algorithm>

#include "coding/decode/stream_decoder.h"
#include "tests/coding/coded_job.h"

namespace motley {
namespace {

constexpr size_t kLength = 50;
constexpr size_t kSlice = 16;
constexpr double kAnyNorm = 1e9;
constexpr DecodeLimits kKeeping{.keep_rows = true};

class Rig {
 public:
  explicit Rig(const CodeForm& form)
      : form_(form),
        job_(MakeJob(form, kLength, 3)),
        decoder_(form, kLength, kSlice, *parallel_, kKeeping) {
    decoder_.SetHome(home_);
  }

  void Add(RowId row, size_t slice) {
    const auto begin = job_.answers[row].begin() + decoder_.slice_begin(slice);
    AlignedVector values(begin, begin + decoder_.slice_length(slice));
    const auto outcome = decoder_.AddSlice(row, slice, values, kAnyNorm);
    ASSERT_TRUE(outcome.ok()) << outcome.status().ToString();
    EXPECT_EQ(*outcome, StreamDecoder::Outcome::kAdded);
  }
  void AddRow(RowId row) {
    for (size_t slice = 0; slice < decoder_.slice_count(); ++slice) Add(row, slice);
  }
  // sum_j alpha_j g_j
  std::vector<double> Covered(const std::vector<Complex>& alpha) const {
    std::vector<double> sum(kLength, 0);
    for (uint32_t j = 0; j < form_.partitions; ++j) {
      for (size_t t = 0; t < kLength; ++t) sum[t] += alpha[j].real() * job_.gradients[j][t];
    }
    return sum;
  }

  const CodeForm& form_;
  CodedJob job_;
  std::vector<float> home_ = std::vector<float>(kLength);
  std::unique_ptr<ParallelFor> parallel_ = MakeSerialParallelFor();
  StreamDecoder decoder_;
};

TEST(KeptRows, DecodeExactlyWhereAccumulatorsDo) {
  for (const char* name : {"none", "repetition", "approximate", "cyclic", "rs", "graph", "group"}) {
    for (const bool equal : {true, false}) {
      const uint32_t s = std::string(name) == "none" ? 0 : 2;
      const CodeForm form =
          MustBuild(name, equal ? EqualRequest(6, s, 30) : UnequalRequest(6, s, 30, 9));
      Rig rig(form);
      for (RowId row = 0; row < form.workers; ++row) {
        if (rig.decoder_.Decodable()) break;
        if (!form.rows[row].empty()) rig.AddRow(row);
      }
      std::vector<float> sum(kLength);
      ASSERT_TRUE(rig.decoder_.Decodable()) << name;
      ASSERT_TRUE(rig.decoder_.Finish(sum).ok()) << name;
      EXPECT_LE(RelativeError(sum, rig.job_.sum), 1e-4) << name;
      EXPECT_GE(rig.decoder_.amplification(), form.rows.empty() ? 0 : 0.1) << name;
    }
  }
}

TEST(KeptRows, SlicesOfRowsThatNeverCameWholeStillCountTowardsTheExactSum) {
  const CodeForm form = MustBuild("approximate", EqualRequest(2, 1, 8));
  Rig rig(form);
  rig.Add(0, 0);
  rig.Add(0, 2);
  EXPECT_FALSE(rig.decoder_.Decodable());
  rig.Add(1, 1);
  rig.Add(1, 3);
  ASSERT_TRUE(rig.decoder_.Decodable());
  EXPECT_FALSE(rig.decoder_.RowComplete(0));
  std::vector<float> sum(kLength);
  ASSERT_TRUE(rig.decoder_.Finish(sum).ok());
  EXPECT_LE(RelativeError(sum, rig.job_.sum), 1e-5);
}

// The reported coverage matches the sum for any rows, sizes and order. Only whole rows count.
TEST(KeptRows, TheSumIsThatOfTheCoverageThatIsReported) {
  Random random(21, Stream::kTest);
  for (int round = 0; round < 300; ++round) {
    const auto n = static_cast<uint32_t>(2 + random.Below(9));
    const auto s = static_cast<uint32_t>(random.Below(std::min(n, 4u)));
    const CodeForm form = MustBuild(
        "approximate", round % 2 == 0 ? EqualRequest(n, s, 40) : UnequalRequest(n, s, 40, round));
    Rig rig(form);
    std::vector<bool> whole(n, false);
    uint32_t count = 0;
    for (RowId row = 0; row < n; ++row) {
      if (form.rows[row].empty()) continue;
      const bool last = row + 1 == n && count == 0;
      if (last || random.Chance(0.5)) {
        rig.AddRow(row);
        whole[row] = true;
        ++count;
      } else if (random.Chance(0.5)) {
        rig.Add(row, random.Below(rig.decoder_.slice_count()));  // Must not count.
      }
    }
    std::vector<float> sum(kLength);
    if (count == 0) continue;
    const auto best = rig.decoder_.FinishApproximately(sum);
    ASSERT_TRUE(best.ok()) << best.status().ToString();
    EXPECT_LE(RelativeError(sum, rig.Covered(best->coverage)), 1e-5) << round;
    EXPECT_NEAR(best->mean_coverage, 1, 1e-9);
    const ApproximateDecoding least = SolveLeastSquares(form, whole).value();
    EXPECT_NEAR(best->error, least.error / (1 - least.error), 1e-8) << round;
    for (RowId row = 0; row < n; ++row) {
      EXPECT_TRUE(whole[row] || best->a[row] == Complex(0));
    }
    EXPECT_TRUE(best->error < 1e-12 || !Solve(form, whole).ok()) << round;
  }
}

TEST(KeptRows, NothingIsMadeOfNothing) {
  const CodeForm form = MustBuild("approximate", EqualRequest(4, 1, 8));
  Rig rig(form);
  std::vector<float> sum(kLength);
  EXPECT_EQ(rig.decoder_.FinishApproximately(sum).code(), StatusCode::kNotDecodable);
  rig.Add(2, 1);  // An incomplete row.
  EXPECT_EQ(rig.decoder_.FinishApproximately(sum).code(), StatusCode::kNotDecodable);
}

TEST(KeptRows, ARefusedSliceIsInNoSum) {
  const CodeForm form = MustBuild("approximate", EqualRequest(4, 1, 8));
  Rig rig(form);
  AlignedVector values(kSlice, 1);
  EXPECT_EQ(rig.decoder_.AddSlice(0, 0, values, 3.9).code(), StatusCode::kDataError);
  EXPECT_FALSE(rig.decoder_.spoiled());
  EXPECT_FALSE(rig.decoder_.Touched(0));
  EXPECT_EQ(rig.decoder_.held_bytes(), 0U);
}

TEST(KeptRows, BuffersAreReusedFromStepToStep) {
  const CodeForm form = MustBuild("approximate", EqualRequest(4, 1, 8));
  Rig rig(form);
  for (int step = 0; step < 3; ++step) {
    rig.decoder_.Reset(form);
    EXPECT_EQ(rig.decoder_.held_bytes(), 0U);
    rig.AddRow(0);
    rig.AddRow(3);
    EXPECT_EQ(rig.decoder_.held_bytes(), 2 * kLength * sizeof(float));
    std::vector<float> sum(kLength);
    ASSERT_TRUE(rig.decoder_.Decodable());
    ASSERT_TRUE(rig.decoder_.Finish(sum).ok());
    EXPECT_LE(RelativeError(sum, rig.job_.sum), 1e-5);
  }
}

}  // namespace
}  // namespace motley
