// SPDX-License-Identifier: Apache-2.0
// Measures the error of the decoded sum, computed in float, against the sum in double.
#include <gtest/gtest.h>

#include <algorithm>

#include "coding/decode/stream_decoder.h"
#include "coding/placement/straggler_sets.h"
#include "tests/coding/coded_job.h"

namespace motley {
namespace {

struct Size {
  uint32_t n;
  uint32_t s;
};

std::vector<float> Stream(const CodeForm& form, const CodedJob& job,
                          const std::vector<bool>& present) {
  const auto parallel = MakeSerialParallelFor();
  StreamDecoder decoder(form, job.sum.size(), job.sum.size(), *parallel);
  for (RowId row = 0; row < form.workers; ++row) {
    if (!present[row]) continue;
    AlignedVector values(job.answers[row].begin(), job.answers[row].end());
    EXPECT_TRUE(decoder.AddSlice(row, 0, values, 1e9).ok());
  }
  std::vector<float> sum(job.sum.size());
  EXPECT_TRUE(decoder.Finish(sum).ok());
  return sum;
}

// The worst error for 3 draws of speeds, each with 20 random and neighbouring straggler sets.
double WorstError(const char* name, Size size, uint32_t parts = 1) {
  double worst = 0;
  for (uint64_t seed = 0; seed < 3; ++seed) {
    CodeRequest request = UnequalRequest(size.n, size.s, 4 * size.n, seed);
    request.parts = parts;
    const CodeForm form = MustBuild(name, request);
    const CodedJob job = MakeJob(form, 128, seed);
    Random random(seed, Stream::kTest, 1);
    for (const auto& set : StragglerSets(size.n, size.s, 20, random)) {
      const std::vector<bool> present = Without(form, set);
      const auto result = Solve(form, present);
      EXPECT_TRUE(result.ok()) << result.status().ToString();
      if (!result.ok()) continue;
      worst = std::max(worst, RelativeError(Decode(form, job, result->a), job.sum));
      worst = std::max(worst, RelativeError(Stream(form, job, present), job.sum));
    }
  }
  return worst;
}

constexpr Size kSizes[] = {{16, 3}, {32, 3}, {64, 3}, {64, 6}};

TEST(Exactness, ReedSolomonStaysWithin2e6UpTo64Workers) {
  for (const Size& size : kSizes) EXPECT_LE(WorstError("rs", size), 2e-6) << size.n << size.s;
}

TEST(Exactness, HeterogeneousStaysWithin2e6UpTo64WorkersOfSpeedsSpreadTenfold) {
  for (const Size& size : kSizes) {
    EXPECT_LE(WorstError("heterogeneous", size), 2e-6) << size.n << size.s;
  }
}

TEST(Exactness, ShortAnswersStayWithin4e6UpTo32WorkersThreeStragglersAndFourParts) {
  double worst = 0;
  for (uint32_t n : {8, 16, 32}) {
    for (uint32_t s = 0; s <= 3; ++s) {
      for (uint32_t m = 1; m <= 4; ++m) worst = std::max(worst, WorstError("short", {n, s}, m));
    }
  }
  RecordProperty("worst", std::to_string(worst * 1e6) + "e-6");
  EXPECT_LE(worst, 4e-6);
}

TEST(Exactness, GroupsWithACodedRestStayWithin5e6) {
  for (const Size& size : kSizes) EXPECT_LE(WorstError("group", size), 5e-6) << size.n << size.s;
}

TEST(Exactness, RepetitionAddsNothingToTheRoundingOfASum) {
  for (const Size& size : kSizes) {
    EXPECT_LE(WorstError("repetition", size), 5e-7) << size.n << size.s;
  }
}

TEST(Exactness, CyclicStaysWithin1e5ForTenWorkersAndTwoStragglersWhateverTheSeed) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    for (const Size& size : {Size{7, 2}, Size{9, 2}, Size{10, 1}, Size{10, 2}}) {
      CodeRequest request = EqualRequest(size.n, size.s, size.n);
      request.seed = seed;
      const CodeForm form = MustBuild("cyclic", request);
      const CodedJob job = MakeJob(form, 64, seed);
      Random random(seed, Stream::kTest, 1);
      for (const auto& set : StragglerSets(size.n, size.s, 45, random)) {
        const auto result = Solve(form, Without(form, set));
        ASSERT_TRUE(result.ok()) << result.status().ToString();
        EXPECT_LE(RelativeError(Decode(form, job, result->a), job.sum), 1e-5);
      }
    }
  }
}

// Missing neighbours on the circle are the worst case: |a_i| comes close to 2^6.
TEST(Exactness, EvenTheWorstStragglersStayWithinTheDecodersTolerance) {
  for (const char* name : {"rs", "heterogeneous"}) {
    const CodeForm form = MustBuild(name, UnequalRequest(64, 6, 256, 1));
    const CodedJob job = MakeJob(form, 128, 1);
    std::vector<WorkerId> by_angle(64);
    for (WorkerId worker = 0; worker < 64; ++worker) by_angle[worker] = worker;
    std::sort(by_angle.begin(), by_angle.end(), [&](WorkerId a, WorkerId b) {
      return std::arg(form.nodes[a]) < std::arg(form.nodes[b]);
    });
    for (size_t first = 0; first + 6 <= 64; first += 2) {
      const auto present = Without(form, {&by_angle[first], &by_angle[first] + 6});
      const auto result = Solve(form, present);
      ASSERT_TRUE(result.ok()) << result.status().ToString();
      EXPECT_LE(RelativeError(Decode(form, job, result->a), job.sum), DecodeLimits{}.tolerance);
      EXPECT_LE(RelativeError(Stream(form, job, present), job.sum), DecodeLimits{}.tolerance);
    }
  }
}

}  // namespace
}  // namespace motley
