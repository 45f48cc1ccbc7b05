// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "scheduler/placement/load_balance.h"
#include "scheduler/placement/plan.h"
#include "tests/scheduler/placement/random_shares.h"

namespace motley {
namespace {

Placement Placed(const ShareRequest& request) {
  Result<Placement> placement = PlaceBalanced(request);
  EXPECT_TRUE(placement.ok()) << placement.status().ToString();
  return placement.ok() ? *placement : Placement{};
}

Relocation Moved(const Placement& old, const ShareRequest& request) {
  const Result<BalancedShares> shares = BalanceShares(request);
  EXPECT_TRUE(shares.ok()) << shares.status().ToString();
  Result<Relocation> moved = MoveLeast(old, request, *shares);
  EXPECT_TRUE(moved.ok()) << moved.status().ToString();
  if (!moved.ok()) return {};
  EXPECT_EQ(CountHeld(moved->placement, request.workers.size()).primary, shares->partitions);
  for (const auto& holders : moved->placement.holders) {
    EXPECT_EQ(std::set<WorkerId>(holders.begin(), holders.end()).size(), request.copies);
    EXPECT_EQ(holders.size(), request.copies);
  }
  return *moved;
}

// Copies that are missing because their workers are gone.
size_t LostCopies(const Placement& old, const ShareRequest& request) {
  size_t lost = 0;
  for (const auto& holders : old.holders) {
    const auto there = std::count_if(holders.begin(), holders.end(), [&](WorkerId worker) {
      return worker < request.workers.size() && request.workers[worker].present;
    });
    lost += request.copies - std::min<size_t>(there, request.copies);
  }
  return lost;
}

// Partitions that no holder can compute within the shares: all but a maximum matching of partitions
// to holders, found by augmenting paths.
size_t Unmatched(const Placement& old, const ShareRequest& request,
                 const std::vector<uint32_t>& shares) {
  std::vector<std::vector<PartitionId>> given(shares.size());
  size_t unmatched = 0;
  for (PartitionId first = 0; first < old.holders.size(); ++first) {
    std::vector<bool> seen(shares.size(), false);
    const std::function<bool(PartitionId)> place = [&](PartitionId p) {
      for (const WorkerId worker : old.holders[p]) {
        if (worker >= shares.size() || !request.workers[worker].present || seen[worker]) continue;
        seen[worker] = true;
        if (given[worker].size() < shares[worker]) {
          given[worker].push_back(p);
          return true;
        }
        for (PartitionId& other : given[worker]) {
          if (!place(other)) continue;
          other = p;
          return true;
        }
      }
      return false;
    };
    unmatched += place(first) ? 0 : 1;
  }
  return unmatched;
}

TEST(Relocation, TwoWhoAreLeftBothGetWhatOnlyOthersHad) {
  ShareRequest request = SharesOf({1, 2, 1, 1}, 64, 2);
  const Placement old = Placed(request);
  for (const WorkerId gone : {2u, 3u}) request.workers[gone].present = false;
  Moved(old, request);
}

TEST(Relocation, NothingMovesWhenNothingChanges) {
  const ShareRequest request = SharesOf(RandomSpeeds(1, 20, 8), 320, 2);
  const Placement old = Placed(request);
  const Relocation moved = Moved(old, request);
  EXPECT_EQ(moved.placement.holders, old.holders);
  EXPECT_TRUE(moved.transfers.empty());
  EXPECT_EQ(moved.switched, 0u);
}

TEST(Relocation, WhoJoinsCostsItsShare) {
  for (const uint32_t copies : {1u, 2u, 3u}) {
    ShareRequest request = SharesOf(RandomSpeeds(2, 12, 6), 12 * 16, copies);
    request.workers[7].present = false;
    const Placement old = Placed(request);
    request.workers[7].present = true;
    const Relocation moved = Moved(old, request);
    const uint32_t share = BalanceShares(request)->partitions[7];
    EXPECT_GT(share, 0u);
    EXPECT_EQ(moved.transfers.size(), share);
    for (const CopyTransfer& transfer : moved.transfers) EXPECT_EQ(transfer.to, 7u);
  }
}

TEST(Relocation, WhoLeavesCostsWhatItHeld) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    for (const uint32_t copies : {2u, 3u}) {
      ShareRequest request = SharesOf(RandomSpeeds(seed, 12, 6), 12 * 16, copies);
      const Placement old = Placed(request);
      const WorkerId gone = seed % 12;
      request.workers[gone].present = false;
      const Relocation moved = Moved(old, request);
      EXPECT_EQ(moved.transfers.size(), CountHeld(old, 12).held[gone]) << "seed " << seed;
    }
  }
}

TEST(Relocation, WithoutCopiesWhatIsLostIsSentAgain) {
  ShareRequest request = SharesOf({1, 2, 3, 4}, 100);
  const Placement old = Placed(request);
  request.workers[3].present = false;
  EXPECT_EQ(Moved(old, request).transfers.size(), 40u);
}

// A slower worker hands work to workers with copies, and nothing moves.
TEST(Relocation, ASpeedThatChangesSwitchesPrimaries) {
  for (const double factor : {0.5, 0.75, 1.5}) {
    std::vector<double> speeds = {2, 2, 4, 4, 8, 8, 8, 12};
    const Placement old = Placed(SharesOf(speeds, 512, 2));
    speeds[5] *= factor;
    const Relocation moved = Moved(old, SharesOf(speeds, 512, 2));
    EXPECT_TRUE(moved.transfers.empty()) << factor;
    EXPECT_GT(moved.switched, 0u) << factor;
  }
}

TEST(Relocation, MovesBetweenTheLeastAndTheStatedMost) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed, Stream::kTest, 4);
    const auto workers = static_cast<uint32_t>(4 + random.Below(10));
    const auto copies = static_cast<uint32_t>(1 + random.Below(3));
    ShareRequest request = SharesOf(RandomSpeeds(seed, workers, 8), 8 * workers, copies);
    const bool absent = workers > copies + 1 && random.Chance(0.5);
    if (absent) request.workers[0].present = false;
    const Placement old = Placed(request);
    request = SharesOf(RandomSpeeds(seed + 1000, workers, 8), 8 * workers, copies);
    if (workers > copies + 1 && random.Chance(0.5)) request.workers[1].present = false;
    const size_t lost = LostCopies(old, request);
    const size_t unmatched = Unmatched(old, request, BalanceShares(request)->partitions);
    const Relocation moved = Moved(old, request);
    EXPECT_GE(moved.transfers.size(), std::max(lost, unmatched)) << "seed " << seed;
    EXPECT_LE(moved.transfers.size(), lost + unmatched) << "seed " << seed;
  }
}

TEST(Relocation, FewerOrMoreCopiesMoveOnlyThose) {
  ShareRequest request = SharesOf(RandomSpeeds(3, 10, 4), 160, 2);
  const Placement two = Placed(request);
  request.copies = 3;
  const Relocation more = Moved(two, request);
  EXPECT_EQ(more.transfers.size(), 160u);
  request.copies = 1;
  EXPECT_TRUE(Moved(two, request).transfers.empty());
}

// After a join, others still share a loss: the worker that gave a partition away backs it up.
TEST(Relocation, AfterAJoinALossIsStillShared) {
  ShareRequest request = SharesOf({2, 2, 4, 4, 8, 8, 8, 12}, 512, 2);
  request.workers[4].present = false;
  const Placement old = Placed(request);
  request.workers[4].present = true;
  const Relocation moved = Moved(old, request);
  for (WorkerId lost = 0; lost < 8; ++lost) {
    std::vector<uint32_t> counts(8, 0);
    for (const auto& holders : moved.placement.holders) {
      ++counts[holders[0] == lost ? holders[1] : holders[0]];
    }
    ShareRequest left = request;
    left.workers[lost].present = false;
    left.copies = 1;
    EXPECT_LE(StepSeconds(request, counts), 1.25 * FluidSeconds(left)) << "worker " << lost;
  }
}

TEST(Relocation, TellsWhenThereIsNoRoom) {
  ShareRequest request = SharesOf({1, 1, 1}, 12, 2);
  const Placement old = Placed(request);
  const BalancedShares shares = *BalanceShares(request);
  for (ShareWorker& worker : request.workers) worker.most_partitions = 7;
  EXPECT_EQ(MoveLeast(old, request, shares).code(), StatusCode::kResource);
}

TEST(Relocation, ServesLargeClusters) {
  ShareRequest request = SharesOf(RandomSpeeds(7, 10000, 8), 160000, 2);
  const Placement old = Placed(request);
  request = SharesOf(RandomSpeeds(8, 10000, 8), 160000, 2);
  const Relocation moved = Moved(old, request);
  EXPECT_GT(moved.switched, 10000u);
}

}  // namespace
}  // namespace motley
