// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "coding/placement/allocation.h"
#include "tests/conformance/code_suite.h"

namespace motley {
namespace {

struct RepetitionCase {
  static constexpr const char* kName = "repetition";
  static constexpr double kTolerance = 1e-6;
  static std::vector<CodeRequest> Requests() {
    std::vector<CodeRequest> requests = UsualRequests(3);
    requests.push_back({{100, 1, 1}, 1, 12, 1});
    requests.push_back({{1, 1, 1, 1e-6, 1e-6}, 1, 12, 1});  // Two workers hold nothing.
    return requests;
  }
  static void ExpectLoads(const CodeRequest& request, const CodeForm& form) {
    if (form.stragglers == 0) return ExpectSharesFollowSpeeds(request, form, EveryWorker(form));
    if (form.tiling()) return ExpectEqualLoads(request, form);
    for (const auto& members : BalancedClasses(request.speeds, form.stragglers + 1)) {
      ExpectSharesFollowSpeeds(request, form, members);
    }
  }
};
INSTANTIATE_TYPED_TEST_SUITE_P(Repetition, CodeSuite, RepetitionCase);

// With n workers in floor(n / (s + 1)) groups, every set of s missing workers leaves a member of
// each.
TEST(RepetitionCode, LeftOverWorkersAreFurtherMembersOfGroups) {
  for (const uint32_t s : {1u, 2u, 3u}) {
    const uint32_t groups = 4 * (s + 1);
    for (uint32_t n = groups * (s + 1); n < (groups + 1) * (s + 1); ++n) {
      SCOPED_TRACE(fmt::format("{} workers, {} missing", n, s));
      const CodeForm form = MustBuild("repetition", EqualRequest(n, s, 4 * n));
      ASSERT_TRUE(Validate(form).ok()) << Validate(form).ToString();
      EXPECT_TRUE(form.tiling());
      std::vector<uint32_t> copies(form.partitions, 0);
      for (const auto& row : form.rows) {
        EXPECT_NEAR(static_cast<double>(row.size()), static_cast<double>(form.partitions) / groups,
                    1);
        for (const CodeEntry& entry : row) ++copies[entry.partition];
      }
      EXPECT_EQ(*std::min_element(copies.begin(), copies.end()), s + 1);
      EXPECT_EQ(*std::max_element(copies.begin(), copies.end()),
                n == groups * (s + 1) ? s + 1 : s + 2);
      const CodedJob job = MakeJob(form, 6, n);
      Random random(1, Stream::kTest);
      const auto sets = StragglerSets(n, s, 10'000, random);  // All of them, for s < 3.
      for (const auto& set : sets) {
        const auto result = Solve(form, Without(form, set));
        ASSERT_TRUE(result.ok()) << result.status().ToString();
        ASSERT_LE(RelativeError(Decode(form, job, result->a), job.sum), 1e-6);
      }
    }
  }
}

TEST(RepetitionCode, GroupsOfUnlikeWorkersHoldWhatTheirSlowestCan) {
  Random random(5, Stream::kTest);
  for (int round = 0; round < 20; ++round) {
    const auto s = static_cast<uint32_t>(1 + random.Below(3));
    const auto n = static_cast<uint32_t>(200 + random.Below(60));
    CodeRequest request{{}, s, 16 * n, 1};
    for (uint32_t i = 0; i < n; ++i) request.speeds.push_back(1 + 3 * random.NextDouble());
    const CodeForm form = MustBuild("repetition", request);
    ASSERT_TRUE(Validate(form).ok()) << Validate(form).ToString();
    ASSERT_TRUE(form.tiling());
    std::vector<uint32_t> copies(form.partitions, 0);
    double slowest = 0, sum = 0;
    for (WorkerId worker = 0; worker < n; ++worker) {
      for (const CodeEntry& entry : form.rows[worker]) ++copies[entry.partition];
      sum += request.speeds[worker];
    }
    for (const uint32_t count : copies) EXPECT_GE(count, s + 1);
    // Compares the step's time with any s missing workers to the least possible time.
    std::vector<std::vector<double>> times(form.partitions);
    for (WorkerId worker = 0; worker < n; ++worker) {
      const double time = static_cast<double>(form.rows[worker].size()) / request.speeds[worker];
      for (const CodeEntry& entry : form.rows[worker]) times[entry.partition].push_back(time);
    }
    for (auto& of_partition : times) {
      std::sort(of_partition.begin(), of_partition.end());
      slowest = std::max(slowest, of_partition[s]);
    }
    EXPECT_LE(slowest, 1.15 * (s + 1) * form.partitions / sum);
    for (int draw = 0; draw < 200; ++draw) {
      std::vector<WorkerId> missing;
      while (missing.size() < s) {
        const auto worker = static_cast<WorkerId>(random.Below(n));
        if (std::find(missing.begin(), missing.end(), worker) == missing.end()) {
          missing.push_back(worker);
        }
      }
      EXPECT_TRUE(Solve(form, Without(form, missing)).ok());
    }
  }
}

// With one worker in 20 late, a class of 85 is hardly ever whole.
TEST(RepetitionCode, ManyWorkersDecodeWithFivePercentLate) {
  Random random(9, Stream::kTest);
  for (uint32_t n = 250; n <= 260; ++n) {
    for (const uint32_t s : {1u, 2u, 3u}) {
      CodeForm form = MustBuild("repetition", EqualRequest(n, s, 16 * n));
      uint32_t decoded = 0;
      for (int draw = 0; draw < 40; ++draw) {
        std::vector<bool> present(n);
        for (WorkerId w = 0; w < n; ++w) present[w] = !random.Chance(0.05);
        decoded += Solve(form, present).ok() ? 1 : 0;
      }
      EXPECT_GE(decoded, s == 1 ? 18u : 35u) << n << " workers, s = " << s;
    }
  }
}

TEST(RepetitionCode, EqualWorkersInWholeGroupsAreTilesOthersClasses) {
  EXPECT_TRUE(MustBuild("repetition", EqualRequest(6, 2, 30)).tiling());
  EXPECT_EQ(MustBuild("repetition", EqualRequest(7, 2, 30)).accumulators, 3);
  EXPECT_EQ(MustBuild("repetition", UnequalRequest(6, 2, 30, 1)).accumulators, 3);
}

// Neighbours in number are slow together. If there are at least two groups, no group has two of
// them.
TEST(RepetitionCode, NeighboursHoldDifferentData) {
  const CodeForm form = MustBuild("repetition", EqualRequest(12, 2, 24));
  for (WorkerId worker = 0; worker < 12; ++worker) {
    ASSERT_EQ(form.rows[worker].size(), 6);
    EXPECT_EQ(form.rows[worker][0].partition, worker % 4 * 6);
  }
  for (WorkerId first = 0; first <= 8; ++first) {
    std::vector<bool> present(12, true);
    for (WorkerId t = 0; t < 4; ++t) present[first + t] = false;
    EXPECT_TRUE(Solve(form, present).ok());  // Four in a row, although s is two.
  }
}

TEST(RepetitionCode, DecodesWithMoreMissingWhereOneOfEachGroupIsLeft) {
  const CodeForm groups = MustBuild("repetition", EqualRequest(6, 2, 30));
  EXPECT_TRUE(Solve(groups, {false, false, true, true, false, false}).ok());
  const CodeRequest unequal{{2, 1, 1, 1, 1}, 1, 30, 1};
  const CodeForm classes = MustBuild("repetition", unequal);
  for (const auto& members : BalancedClasses(unequal.speeds, 2)) {
    std::vector<bool> present(5, false);
    for (WorkerId worker : members) present[worker] = true;
    EXPECT_TRUE(Solve(classes, present).ok());
    present[members[0]] = false;
    EXPECT_EQ(Solve(classes, present).code(), StatusCode::kNotDecodable);
  }
}

TEST(RepetitionCode, TheSlowestClassIsNearTheOptimum) {
  const CodeRequest request{{2, 2, 4, 4, 8, 8, 8, 12}, 1, 240, 1};
  const CodeForm form = MustBuild("repetition", request);
  double slowest = 0;
  for (WorkerId i = 0; i < 8; ++i) {
    slowest = std::max(slowest, static_cast<double>(form.rows[i].size()) / request.speeds[i]);
  }
  EXPECT_DOUBLE_EQ(slowest, 2.0 * 240 / 48);  // (s + 1) k / sum of speeds.
}

}  // namespace
}  // namespace motley
