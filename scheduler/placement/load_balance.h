// SPDX-License-Identifier: Apache-2.0
// How much each worker computes, where copies are, and what has to move when that changes. Pure and
// deterministic; any thread. For 10,000 workers of 16 partitions each, it takes some millions of
// simple operations.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "profiles/cost_model.h"

namespace motley {

inline constexpr uint32_t kAnyNumber = std::numeric_limits<uint32_t>::max();

// A worker, by its WorkerId, for shares.
struct ShareWorker {
  CostCurve curve;
  double fixed_seconds = 0;  // Time of each step besides computing: parameters down, answer up.
  // The most partitions that it has room for, copies included.
  uint32_t most_partitions = kAnyNumber;
  bool present = true;  // False: it gets nothing.
};

struct ShareRequest {
  std::vector<ShareWorker> workers;
  uint32_t partitions = 0;           // The job's partitions, > 0.
  double samples_per_partition = 1;  // In one step's batch, > 0.
  uint32_t copies = 1;               // Copies of each partition, on different workers; > 0.
};

struct BalancedShares {
  std::vector<uint32_t> partitions;  // By worker: the number of partitions that it computes first.
  double step_seconds = 0;           // When the last worker is done: the least possible time.
};

// Minimises the time of the slowest share by bisection on the step's time T: worker i manages
// SamplesWithin(curve_i, T - fixed_i) samples. The proportional shares of the coded-gradient papers
// are the case without overheads. Among shares that tie, those win whose late finishers have least.
// A worker whose overhead alone is too long gets nothing. kInvalidArgument: fewer workers than
// copies, or numbers out of range. kResource: no room, with the number of partitions that lack it.
Result<BalancedShares> BalanceShares(const ShareRequest& request);
// When the last of these shares is done; infinite when one does not fit.
double StepSeconds(const ShareRequest& request, const std::vector<uint32_t>& partitions);

// Where copies are.
struct Placement {
  std::vector<std::vector<WorkerId>>
      holders;  // By partition: different workers, the primary first.
};

// Primaries follow `shares`, in order of the workers. The backups of a worker are spread over the
// others in proportion to their spare capacity at a horizon H. H is the least time by which the
// others can take over, in whole partitions, what any worker of its size computes, while none of
// them takes more than twice its proportional part. So if one worker dies and the first backups of
// its partitions compute them, nobody is later than H, unless a lack of room for copies leaves no
// choice. The second backups are permuted against the first, so that the partitions that two
// workers back up for each other fall to many when both die. kResource: no room.
Result<Placement> PlaceCopies(const ShareRequest& request, const BalancedShares& shares);

struct CopyTransfer {
  PartitionId partition;
  WorkerId to;  // It did not hold the partition.

  bool operator==(const CopyTransfer&) const = default;
};

struct Relocation {
  Placement placement;
  std::vector<CopyTransfer> transfers;  // By partition.
  uint32_t switched = 0;                // Primaries that changed to a worker that held a copy.
};

// Moves from a placement to one with other shares, possibly over other workers. Workers that are
// `present` keep their data as far as possible. They become primaries of partitions that they hold
// (which moves nothing) as far as that brings them nearer to their share. Every primary count is as
// in `shares`. The number of copies made is at least max(L, U) and at most L + U. L copies were
// lost with their workers, or are asked for in addition. U partitions cannot be computed by any
// holder without making a share too large, as a maximum flow finds. So nothing moves when shares
// stay, a worker that joins costs its share, and one that leaves costs the copies that it held.
// kResource: no room.
Result<Relocation> MoveLeast(const Placement& old, const ShareRequest& request,
                             const BalancedShares& shares);

}  // namespace motley
