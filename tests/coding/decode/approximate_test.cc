// SPDX-License-Identifier: Apache-2.0
#include "coding/decode/approximate.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "coding/decode/block_graph.h"
#include "coding/placement/placement.h"
#include "coding/placement/straggler_sets.h"
#include "coding/placement/unit_circle.h"
#include "tests/coding/coded_job.h"

namespace motley {
namespace {

constexpr uint32_t kWorkers = 60;

// Workers i, ..., i + d - 1 (mod n) hold partition i, with coefficients 1 and no C.
CodeForm ZeroOneCyclic(uint32_t n, uint32_t d) {
  CodeForm form = EmptyForm("zero-one", EqualRequest(n, d - 1, n));
  for (uint32_t i = 0; i < n; ++i) {
    for (uint32_t t = 0; t < d; ++t) form.rows[(i + t) % n].push_back({i, 1});
  }
  for (auto& row : form.rows) {
    std::sort(row.begin(), row.end(),
              [](const auto& a, const auto& b) { return a.partition < b.partition; });
  }
  Finish(form);
  return form;
}

std::vector<bool> RandomPresent(uint32_t n, uint32_t missing, Random& random) {
  std::vector<uint8_t> flags(n, 1);
  std::fill_n(flags.begin(), missing, 0);
  random.Shuffle(std::span(flags));
  return {flags.begin(), flags.end()};
}

using Solver = Result<ApproximateDecoding> (*)(const CodeForm&, const std::vector<bool>&);

double MeanError(const CodeForm& form, double share_missing, Solver solve, int draws = 400) {
  Random random(17, Stream::kTest, form.workers, static_cast<uint64_t>(share_missing * 100));
  double total = 0;
  for (int draw = 0; draw < draws; ++draw) {
    const auto missing = static_cast<uint32_t>(std::lround(form.workers * share_missing));
    total += solve(form, RandomPresent(form.workers, missing, random)).value().error;
  }
  return total / draws;
}

// The share of the n choose r sets of missing answers that contain all d copies.
double LostShare(uint32_t n, uint32_t missing, uint32_t d) {
  double share = 1;
  for (uint32_t t = 0; t < d; ++t) share *= static_cast<double>(missing - t) / (n - t);
  return share;
}

// Regression test: rounding errors of the second and third row once counted as other directions,
// and gave weights of 1e14.
TEST(Approximate, EqualRowsShareTheirWeight) {
  for (const Field field : {Field::kReal, Field::kComplexPacked}) {
    for (uint32_t partitions = 8; partitions <= 600; partitions += 2) {
      CodeForm form = EmptyForm("zero-one", EqualRequest(4, 2, partitions));
      form.field = field;
      for (PartitionId p = 0; p < partitions; ++p) {
        if (p % 2 == 0) form.rows[0].push_back({p, 1});
        if (p % 2 == 1) {
          for (const RowId row : {1u, 2u, 3u}) form.rows[row].push_back({p, 1});
        }
      }
      Finish(form);
      const auto solved = SolveLeastSquares(form, {false, true, true, true}).value();
      ASSERT_NEAR(solved.error, 0.5, 1e-9) << partitions << " partitions";
      for (const RowId row : {1u, 2u, 3u}) ASSERT_NEAR(solved.a[row].real(), 1.0 / 3, 1e-9);
    }
  }
}

TEST(Approximate, RepetitionLosesWhatTheLawSays) {
  for (uint32_t d : {2, 3}) {
    const CodeForm form = MustBuild("repetition", EqualRequest(kWorkers, d - 1, kWorkers));
    for (double p : {0.2, 0.3, 0.5}) {
      const double law = LostShare(kWorkers, static_cast<uint32_t>(std::lround(60 * p)), d);
      EXPECT_NEAR(MeanError(form, p, &SolveFirstOfEach, 4000), law, 0.08 * law) << d << " " << p;
    }
  }
}

// (1/k)||aB - 1||^2 with random stragglers, measured earlier by another least-squares program.
TEST(Approximate, ErrorsAreThoseOfTheLiteratureAtSixtyMachines) {
  const CodeForm graph = MustBuild("graph", EqualRequest(kWorkers, 2, kWorkers));
  EXPECT_NEAR(MeanError(graph, 0.2, &SolveApproximate), 8.7e-3, 3.0e-3);
  EXPECT_NEAR(MeanError(graph, 0.3, &SolveApproximate), 2.7e-2, 0.5e-2);
  EXPECT_NEAR(MeanError(graph, 0.5, &SolveApproximate), 0.135, 0.014);
  EXPECT_NEAR(MeanError(graph, 0.3, &SolveOneStep), 0.14, 0.01);
  const CodeForm cyclic = ZeroOneCyclic(kWorkers, 3);
  EXPECT_NEAR(MeanError(cyclic, 0.1, &SolveApproximate), 3.3e-3, 0.7e-3);
  EXPECT_NEAR(MeanError(cyclic, 0.3, &SolveApproximate), 4.5e-2, 0.4e-2);
  EXPECT_NEAR(MeanError(cyclic, 0.5, &SolveApproximate), 0.154, 0.01);
  // Exact for s <= 2; with more missing, no worse than coefficients 1, which are never exact.
  const CodeForm rs = MustBuild("rs", EqualRequest(kWorkers, 2, kWorkers));
  EXPECT_NEAR(MeanError(rs, 0.1, &SolveApproximate), 3.3e-3, 0.7e-3);
  EXPECT_NEAR(MeanError(rs, 0.3, &SolveApproximate), 4.5e-2, 0.4e-2);
}

TEST(Approximate, LeastSquaresIsExactWhereTheCodeIs) {
  for (const char* name : {"repetition", "heterogeneous", "rs", "graph"}) {
    const CodeForm form = MustBuild(name, EqualRequest(8, 1, 19));
    for (uint32_t missing = 0; missing < 8; ++missing) {
      const auto decoding =
          SolveLeastSquares(form, Without(form, {static_cast<WorkerId>(missing)})).value();
      EXPECT_LE(decoding.error, 1e-20) << name;
      EXPECT_EQ(decoding.a[missing], Complex(0));
    }
  }
}

// The projection's mean is 1 - error, so no other weights have less error. Small changes are tried.
TEST(Approximate, NoOtherWeightsHaveLessError) {
  Random random(5, Stream::kTest);
  for (int round = 0; round < 200; ++round) {
    const auto n = static_cast<uint32_t>(3 + random.Below(10));
    const auto s = static_cast<uint32_t>(random.Below(n));
    const char* name = round % 2 == 0 ? "rs" : "graph";
    const CodeForm form = MustBuild(name, EqualRequest(n, s, n + random.Below(20)));
    const auto present = RandomPresent(n, random.Below(n + 1), random);
    const auto best = SolveLeastSquares(form, present).value();
    EXPECT_NEAR(best.mean_coverage, 1 - best.error, 1e-9);
    EXPECT_NEAR(SolveApproximate(form, present)->error, best.error, 1e-9) << name << n << s;
    std::vector<Complex> other = best.a;
    for (RowId row = 0; row < n; ++row) {
      if (present[row]) other[row] += 0.1 * random.Normal();
    }
    double worse = 0;
    std::vector<Complex> sums(form.partitions, -1);
    for (RowId row = 0; row < n; ++row) {
      for (const CodeEntry& entry : form.rows[row]) {
        sums[entry.partition] += other[row] * entry.coefficient;
      }
    }
    for (const Complex& sum : sums) worse += std::norm(sum) / form.partitions;
    EXPECT_GE(worse, best.error - 1e-9);
  }
}

TEST(Approximate, NoAnswersAreErrorOne) {
  for (const char* name : {"none", "rs", "graph", "repetition"}) {
    const CodeForm form = MustBuild(name, EqualRequest(6, name[0] == 'n' ? 0 : 2, 13));
    const std::vector<bool> nobody(6, false);
    for (Solver solve : {&SolveLeastSquares, &SolveOneStep, &SolveApproximate}) {
      const auto decoding = solve(form, nobody).value();
      EXPECT_EQ(decoding.error, 1) << name;
      EXPECT_EQ(Unbiased(form, decoding).a, std::vector<Complex>(6, 0));
    }
    EXPECT_EQ(SolveApproximate(form, {true}).code(), StatusCode::kInvalidArgument);
  }
}

// exp(2 pi i t / 3) for t = 0..2 add up to rounding noise only.
TEST(Approximate, OneStepCountsNothingWhereCoefficientsCancelOut) {
  CodeForm form;
  form.workers = 3;
  form.partitions = 3;
  form.field = Field::kComplexPacked;
  for (int t = 0; t < 3; ++t) {
    form.rows.push_back({{static_cast<PartitionId>(t), OnCircle(t / 3.0)}});
  }
  const auto nothing = SolveOneStep(form, {true, true, true}).value();
  EXPECT_EQ(nothing.a, std::vector<Complex>(3, 0));
  EXPECT_EQ(nothing.error, 1);
  const auto some = SolveOneStep(form, {true, true, false}).value();
  EXPECT_NEAR(std::abs(some.a[0]), 3, 1e-12);
  EXPECT_NEAR(some.mean_coverage, 1, 1e-12);
}

// Samples are dealt to partitions at random, and the same machines always fail. Each partition's
// expected coverage is 1 after scaling, and below 1 before.
TEST(Approximate, ScaledSumsAreUnbiasedWhenDataIsDealtAtRandom) {
  const CodeForm form = MustBuild("graph", EqualRequest(12, 2, 24));
  std::vector<bool> present(12, true);
  Random random(23, Stream::kTest);
  double plain = 0;
  double scaled = 0;
  constexpr int kRounds = 4000;
  for (int round = 0; round < kRounds; ++round) {
    present = RandomPresent(12, 6, random);
    const auto best = SolveApproximate(form, present).value();
    const auto unbiased = Unbiased(form, best);
    EXPECT_NEAR(unbiased.mean_coverage, 1, 1e-12);
    EXPECT_NEAR(unbiased.error, best.error / (1 - best.error), 1e-9);
    const auto where = static_cast<PartitionId>(random.Below(24));  // The partition of a sample.
    for (RowId row = 0; row < 12; ++row) {
      for (const CodeEntry& entry : form.rows[row]) {
        if (entry.partition != where) continue;
        plain += best.a[row].real();
        scaled += unbiased.a[row].real();
      }
    }
  }
  EXPECT_NEAR(scaled / kRounds, 1, 0.03);
  EXPECT_LE(plain / kRounds, 0.93);
}

}  // namespace
}  // namespace motley
