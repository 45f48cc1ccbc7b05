// SPDX-License-Identifier: Apache-2.0
#include "scheduler/placement/load_balance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "coding/placement/allocation.h"
#include "tests/scheduler/placement/random_shares.h"

namespace motley {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

BalancedShares Balanced(const ShareRequest& request) {
  Result<BalancedShares> shares = BalanceShares(request);
  EXPECT_TRUE(shares.ok()) << shares.status().ToString();
  return shares.ok() ? *shares : BalancedShares{};
}

uint32_t Sum(const std::vector<uint32_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), 0u);
}

TEST(LoadBalance, SharesFollowTheSpeeds) {
  const ShareRequest request = SharesOf({2, 2, 4, 4, 8, 8, 8, 12}, 48);
  const BalancedShares shares = Balanced(request);
  EXPECT_THAT(shares.partitions, ElementsAre(2, 2, 4, 4, 8, 8, 8, 12));
  EXPECT_DOUBLE_EQ(shares.step_seconds, 1);
  EXPECT_NEAR(FluidSeconds(request), 1, 1e-12);
}

TEST(LoadBalance, AWorkerWhoseOverheadAloneIsTooLongGetsNothing) {
  ShareRequest request = SharesOf({1, 1, 1}, 30);
  request.workers[1].fixed_seconds = 100;
  EXPECT_THAT(Balanced(request).partitions, ElementsAre(15, 0, 15));
  request.workers[1].fixed_seconds = 6;
  EXPECT_THAT(Balanced(request).partitions, ElementsAre(12, 6, 12));
  request.workers[2].present = false;
  EXPECT_THAT(Balanced(request).partitions, ElementsAre(18, 12, 0));
}

// LB-BSP's case: below its knee a GPU gets enough work to fill it, because that costs nothing more.
TEST(LoadBalance, AKneeIsFilled) {
  ShareRequest request = SharesOf({10, 1}, 40);
  request.workers[0].curve.knee_samples = 35;
  const BalancedShares shares = Balanced(request);
  EXPECT_THAT(shares.partitions, ElementsAre(37, 3));
  EXPECT_DOUBLE_EQ(shares.step_seconds, 3.7);
}

// Poplar's case: a full worker leaves the rest to others.
TEST(LoadBalance, CapsAreKept) {
  ShareRequest request = SharesOf({10, 1, 1}, 40);
  request.workers[0].curve.most_samples = 20;
  EXPECT_THAT(Balanced(request).partitions, ElementsAre(20, 10, 10));
  request.workers[1].most_partitions = 5;
  EXPECT_THAT(Balanced(request).partitions, ElementsAre(20, 5, 15));
}

TEST(LoadBalance, WhatDoesNotFitIsTold) {
  ShareRequest request = SharesOf({10, 1}, 40);
  request.workers[0].curve.most_samples = 20;
  request.workers[1].curve.most_samples = 7;
  Result<BalancedShares> shares = BalanceShares(request);
  EXPECT_EQ(shares.code(), StatusCode::kResource);
  EXPECT_THAT(shares.status().message(), HasSubstr("samples of a step of 40 partitions"));
  EXPECT_THAT(shares.status().message(), HasSubstr("room for 27, and 13 are left over"));
  request = SharesOf({1, 1, 1}, 40, 2);
  for (ShareWorker& worker : request.workers) worker.most_partitions = 26;
  shares = BalanceShares(request);
  EXPECT_EQ(shares.code(), StatusCode::kResource);
  EXPECT_THAT(shares.status().message(), HasSubstr("copies of 40 partitions"));
  EXPECT_THAT(shares.status().message(), HasSubstr("room for 78, and 2 are left over"));
}

TEST(LoadBalance, WhatMakesNoSenseIsRefused) {
  const ShareRequest good = SharesOf({1, 1}, 4, 2);
  EXPECT_TRUE(BalanceShares(good).ok());
  const std::function<void(ShareRequest&)> spoil[] = {
      [](ShareRequest& r) { r.workers.clear(); },
      [](ShareRequest& r) { r.workers[0].present = false; },
      [](ShareRequest& r) { r.partitions = 0; },
      [](ShareRequest& r) { r.copies = 0; },
      [](ShareRequest& r) { r.samples_per_partition = 0; },
      [](ShareRequest& r) { r.samples_per_partition = NAN; },
      [](ShareRequest& r) { r.workers[0].curve.seconds_per_sample = 0; },
      [](ShareRequest& r) { r.workers[0].curve.seconds_per_sample = INFINITY; },
      [](ShareRequest& r) { r.workers[1].curve.overhead_seconds = -1; },
      [](ShareRequest& r) { r.workers[1].curve.knee_samples = NAN; },
      [](ShareRequest& r) { r.workers[1].fixed_seconds = INFINITY; },
  };
  for (const auto& change : spoil) {
    ShareRequest request = good;
    change(request);
    EXPECT_EQ(BalanceShares(request).code(), StatusCode::kInvalidArgument);
  }
}

// The least time over all ways to share, by trying them all.
double LeastByTrying(const ShareRequest& request, size_t worker, uint32_t left,
                     std::vector<uint32_t>& counts) {
  if (worker == request.workers.size()) {
    return left == 0 ? StepSeconds(request, counts) : std::numeric_limits<double>::infinity();
  }
  double least = std::numeric_limits<double>::infinity();
  for (uint32_t n = 0; n <= std::min(left, request.workers[worker].most_partitions); ++n) {
    counts[worker] = n;
    least = std::min(least, LeastByTrying(request, worker + 1, left - n, counts));
  }
  return least;
}

TEST(LoadBalance, NoSharingIsFaster) {
  int balanced = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    const ShareRequest request = RandomShares(seed, 4, 12);
    const Result<BalancedShares> shares = BalanceShares(request);
    std::vector<uint32_t> counts(request.workers.size(), 0);
    const double least = LeastByTrying(request, 0, request.partitions, counts);
    if (!shares.ok()) {
      EXPECT_EQ(shares.code(), StatusCode::kResource);
      EXPECT_EQ(least, std::numeric_limits<double>::infinity()) << "seed " << seed;
      continue;
    }
    ++balanced;
    EXPECT_EQ(Sum(shares->partitions), request.partitions);
    EXPECT_NEAR(shares->step_seconds, least, 1e-9 * least) << "seed " << seed;
    EXPECT_LE(FluidSeconds(request), shares->step_seconds * (1 + 1e-12));
  }
  EXPECT_GT(balanced, 200);
}

// With speeds alone, shares are those of the codes.
TEST(LoadBalance, AgreesWithProportionalAllocation) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    const std::vector<double> speeds = RandomSpeeds(seed, 20, 8);
    const auto partitions = static_cast<uint32_t>(16 * speeds.size());
    const ShareRequest request = SharesOf(speeds, partitions);
    const std::vector<uint32_t> allocated = Allocate(speeds, partitions, partitions);
    EXPECT_NEAR(Balanced(request).step_seconds, StepSeconds(request, allocated), 1e-9);
  }
}

TEST(LoadBalance, DivisibleWorkIsALowerBoundThatFineCutsComeNear) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    ShareRequest request = SharesOf(RandomSpeeds(seed, 8, 6), 8 * 64);
    for (ShareWorker& worker : request.workers) worker.curve.overhead_seconds = 0.5;
    const BalancedShares shares = Balanced(request);
    const double fluid = FluidSeconds(request);
    EXPECT_GE(shares.step_seconds, fluid * (1 - 1e-12));
    EXPECT_LE(shares.step_seconds, 1.06 * fluid) << "seed " << seed;
  }
}

}  // namespace
}  // namespace motley
