// SPDX-License-Identifier: Apache-2.0
// Requests to share work over clusters, and measures of what comes of them, for tests.
#pragma once

#include <vector>

#include "base/random.h"
#include "scheduler/placement/load_balance.h"
#include "scheduler/placement/share_time.h"

namespace motley {

// Partitions of one sample each, on workers with speeds and no other figures.
inline ShareRequest SharesOf(const std::vector<double>& speeds, uint32_t partitions,
                             uint32_t copies = 1) {
  ShareRequest request;
  request.partitions = partitions;
  request.copies = copies;
  for (const double speed : speeds) {
    request.workers.push_back({.curve = {.seconds_per_sample = 1 / speed}});
  }
  return request;
}

// Speeds from 1 to `spread`.
inline std::vector<double> RandomSpeeds(uint64_t seed, uint32_t workers, double spread) {
  Random random(seed, Stream::kTest, 1);
  std::vector<double> speeds;
  for (uint32_t i = 0; i < workers; ++i) speeds.push_back(1 + (spread - 1) * random.NextDouble());
  return speeds;
}

// A request with at most this many workers and partitions, with overheads, knees and caps; not
// always feasible.
inline ShareRequest RandomShares(uint64_t seed, uint32_t most_workers, uint32_t most_partitions) {
  Random random(seed, Stream::kTest, 2);
  ShareRequest request;
  request.partitions = 1 + static_cast<uint32_t>(random.Below(most_partitions));
  request.samples_per_partition = 1 + static_cast<double>(random.Below(40)) / 4;
  const uint64_t workers = 1 + random.Below(most_workers);
  for (uint64_t i = 0; i < workers; ++i) {
    ShareWorker worker;
    worker.curve.seconds_per_sample = 0.1 + random.NextDouble();
    if (random.Chance(0.5)) worker.curve.overhead_seconds = 5 * random.NextDouble();
    if (random.Chance(0.3)) worker.curve.knee_samples = 20 * random.NextDouble();
    if (random.Chance(0.2)) worker.curve.most_samples = 80 * random.NextDouble();
    if (random.Chance(0.2)) worker.fixed_seconds = 3 * random.NextDouble();
    if (random.Chance(0.2)) worker.most_partitions = static_cast<uint32_t>(random.Below(8));
    request.workers.push_back(worker);
  }
  return request;
}

inline Result<Placement> PlaceBalanced(const ShareRequest& request) {
  MOTLEY_ASSIGN_OR_RETURN(const BalancedShares shares, BalanceShares(request));
  return PlaceCopies(request, shares);
}

// The least step time if work could be divided at will, a lower bound. The request must be sane and
// have room.
inline double FluidSeconds(const ShareRequest& request) {
  const ShareTimes times(request);
  return times.LeastTime([&](double seconds) {
    double total = 0;
    for (WorkerId i = 0; i < request.workers.size(); ++i) total += times.Divisible(i, seconds);
    return total >= request.partitions;
  });
}

// By worker, the number of partitions with it as the primary, and the number that it holds. Workers
// beyond `workers` are left out.
struct HeldCounts {
  std::vector<uint32_t> primary;
  std::vector<uint32_t> held;
};
inline HeldCounts CountHeld(const Placement& placement, size_t workers) {
  HeldCounts counts{std::vector<uint32_t>(workers, 0), std::vector<uint32_t>(workers, 0)};
  for (const auto& holders : placement.holders) {
    if (!holders.empty() && holders.front() < workers) ++counts.primary[holders.front()];
    for (const WorkerId worker : holders) {
      if (worker < workers) ++counts.held[worker];
    }
  }
  return counts;
}

}  // namespace motley
