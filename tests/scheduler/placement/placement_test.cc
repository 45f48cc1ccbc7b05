// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "scheduler/placement/load_balance.h"
#include "tests/scheduler/placement/random_shares.h"

namespace motley {
namespace {

Placement Placed(const ShareRequest& request) {
  Result<Placement> placement = PlaceBalanced(request);
  EXPECT_TRUE(placement.ok()) << placement.status().ToString();
  return placement.ok() ? *placement : Placement{};
}

void ExpectDistinct(const Placement& placement, const ShareRequest& request) {
  ASSERT_EQ(placement.holders.size(), request.partitions);
  for (const auto& holders : placement.holders) {
    EXPECT_EQ(std::set<WorkerId>(holders.begin(), holders.end()).size(), request.copies);
  }
}

// Partitions that each worker computes when `lost` is gone and first backups take over.
std::vector<uint32_t> After(const Placement& placement, size_t workers, WorkerId lost) {
  std::vector<uint32_t> counts(workers, 0);
  for (const auto& holders : placement.holders) {
    ++counts[holders[0] == lost ? holders[1] : holders[0]];
  }
  return counts;
}

// Time after a loss, relative to divisible work on the remaining workers.
double LossRatio(ShareRequest request, const Placement& placement, WorkerId lost) {
  const double seconds = StepSeconds(request, After(placement, request.workers.size(), lost));
  request.workers[lost].present = false;
  request.copies = 1;
  return seconds / FluidSeconds(request);
}

TEST(Placement, PutsEachCopyOnADifferentWorker) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    const auto workers = static_cast<uint32_t>(3 + seed % 20);
    for (uint32_t copies = 1; copies <= 3; ++copies) {
      const ShareRequest request = SharesOf(RandomSpeeds(seed, workers, 12), 16 * workers, copies);
      const Placement placement = Placed(request);
      ExpectDistinct(placement, request);
      EXPECT_EQ(CountHeld(placement, workers).primary, BalanceShares(request)->partitions);
    }
  }
}

TEST(Placement, IsTheSameEveryTime) {
  const ShareRequest request = SharesOf(RandomSpeeds(5, 30, 8), 480, 3);
  EXPECT_EQ(Placed(request).holders, Placed(request).holders);
}

// The cluster of the papers, 64 partitions each. After a loss, nobody takes more than 2 % longer
// than divisible work would on the remaining workers, and the mean is within 1 %.
TEST(Placement, ALossIsSharedByAll) {
  const ShareRequest request = SharesOf({2, 2, 4, 4, 8, 8, 8, 12}, 512, 2);
  const Placement placement = Placed(request);
  double sum = 0;
  for (WorkerId lost = 0; lost < 8; ++lost) {
    const double ratio = LossRatio(request, placement, lost);
    EXPECT_LE(ratio, 1.02) << "worker " << lost;
    sum += ratio;
  }
  EXPECT_LE(sum / 8, 1.01);
}

// 16 partitions each, and speeds up to 8 times apart. Whole partitions are coarse for slow workers,
// yet no loss costs more than 6 % over divisible work, and 4 % on average.
TEST(Placement, ALossIsSharedInRandomClusters) {
  double sum = 0;
  int losses = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const auto workers = static_cast<uint32_t>(4 + seed);
    const ShareRequest request = SharesOf(RandomSpeeds(seed, workers, 8), 16 * workers, 2);
    const Placement placement = Placed(request);
    for (WorkerId lost = 0; lost < workers; ++lost) {
      const double ratio = LossRatio(request, placement, lost);
      EXPECT_LE(ratio, 1.06) << "seed " << seed << " worker " << lost;
      sum += ratio;
      ++losses;
    }
  }
  EXPECT_LE(sum / losses, 1.04);
}

// No worker backs up much more than its share.
TEST(Placement, BackupsAreSpreadOverAll) {
  for (const uint32_t copies : {2u, 3u}) {
    const ShareRequest request = SharesOf(RandomSpeeds(3, 64, 4), 64 * 32, copies);
    const HeldCounts counts = CountHeld(Placed(request), 64);
    for (WorkerId i = 0; i < 64; ++i) {
      const double backups = counts.held[i] - counts.primary[i];
      EXPECT_LE(backups, 2.1 * (copies - 1) * counts.primary[i]) << "worker " << i;
    }
  }
}

// With three copies, two workers that die together leave their work to many.
TEST(Placement, TwoLossesAreShared) {
  const ShareRequest request = SharesOf({2, 2, 4, 4, 8, 8, 8, 12}, 512, 3);
  const Placement placement = Placed(request);
  for (WorkerId a = 0; a < 8; ++a) {
    for (WorkerId b = 0; b < a; ++b) {
      std::map<WorkerId, uint32_t> takers;
      uint32_t orphans = 0, most = 0;
      for (const auto& holders : placement.holders) {
        const std::set<WorkerId> first = {holders[0], holders[1]};
        if (first != std::set<WorkerId>{a, b}) continue;
        ++orphans;
        most = std::max(most, ++takers[holders[2]]);
      }
      EXPECT_GE(takers.size(), std::min(orphans / 3, 3u)) << a << " and " << b;
      if (orphans >= 16) {
        EXPECT_LE(most, 0.6 * orphans) << a << " and " << b;
      }
    }
  }
}

TEST(Placement, OneWorkerMayHaveMoreThanAllOthers) {
  const ShareRequest request = SharesOf({100, 1, 1, 1}, 64, 2);
  const Placement placement = Placed(request);
  ExpectDistinct(placement, request);
  EXPECT_LE(LossRatio(request, placement, 0), 1.05);
}

TEST(Placement, WorkersThatAreTooSlowHoldBackupsWhereNobodyElseCan) {
  ShareRequest request = SharesOf({1, 1, 1}, 30, 3);
  request.workers[2].fixed_seconds = 1000;
  const HeldCounts counts = CountHeld(Placed(request), 3);
  EXPECT_EQ(counts.primary[2], 0u);
  EXPECT_EQ(counts.held[2], 30u);
}

TEST(Placement, KeepsToTheRoomThereIs) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed, Stream::kTest);
    const auto workers = static_cast<uint32_t>(3 + random.Below(8));
    ShareRequest request = SharesOf(RandomSpeeds(seed, workers, 6), 8 * workers, 2);
    uint32_t room = 0;
    for (ShareWorker& worker : request.workers) {
      worker.most_partitions = 8 + static_cast<uint32_t>(random.Below(20));
      room += std::min(worker.most_partitions, request.partitions);
    }
    const Result<Placement> placement = PlaceBalanced(request);
    if (room < 2 * request.partitions) {
      EXPECT_EQ(placement.code(), StatusCode::kResource);
      continue;
    }
    ASSERT_TRUE(placement.ok()) << "seed " << seed << ": " << placement.status().ToString();
    ExpectDistinct(*placement, request);
    const HeldCounts counts = CountHeld(*placement, workers);
    for (WorkerId i = 0; i < workers; ++i) {
      EXPECT_LE(counts.held[i], request.workers[i].most_partitions);
    }
  }
}

// The requests have overheads, knees and caps of every kind.
TEST(Placement, ServesWhateverCanBeShared) {
  int placed = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    ShareRequest request = RandomShares(seed, 9, 120);
    request.copies = 1 + static_cast<uint32_t>(seed % 3);
    const Result<BalancedShares> shares = BalanceShares(request);
    if (!shares.ok()) continue;
    const Result<Placement> placement = PlaceCopies(request, *shares);
    ASSERT_TRUE(placement.ok()) << "seed " << seed << ": " << placement.status().ToString();
    ++placed;
    ExpectDistinct(*placement, request);
    const HeldCounts counts = CountHeld(*placement, request.workers.size());
    EXPECT_EQ(counts.primary, shares->partitions);
    for (WorkerId i = 0; i < request.workers.size(); ++i) {
      EXPECT_LE(counts.held[i], request.workers[i].most_partitions) << "seed " << seed;
    }
  }
  EXPECT_GT(placed, 200);
}

// The time is far from quadratic: 10,000 workers of 16 partitions each.
TEST(Placement, ServesLargeClusters) {
  const ShareRequest request = SharesOf(RandomSpeeds(7, 10000, 8), 160000, 3);
  const Placement placement = Placed(request);
  ExpectDistinct(placement, request);
  const std::vector<uint32_t> after = After(placement, 10000, 5000);
  EXPECT_LE(StepSeconds(request, after), 1.1 * FluidSeconds(request));
}

}  // namespace
}  // namespace motley
