// SPDX-License-Identifier: Apache-2.0
// Who computes how much, who holds copies of what, and what has to move when that changes. Pure
// and deterministic; any thread. For 10,000 workers of 16 partitions each, some millions of simple
// operations.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "profiles/cost_model.h"
#include "profiles/profile.h"

namespace motley {

inline constexpr uint32_t kAnyNumber = std::numeric_limits<uint32_t>::max();

// A worker, by its WorkerId, for shares.
struct ShareWorker {
  CostCurve curve;
  double fixed_seconds = 0;  // Of each step besides computing: parameters down, answer up.
  uint32_t most_partitions = kAnyNumber;  // It has room for, copies included.
  bool present = true;                    // False: gets nothing.
};

struct ShareRequest {
  std::vector<ShareWorker> workers;
  uint32_t partitions = 0;           // Of the job, > 0.
  double samples_per_partition = 1;  // Of one step's batch, > 0.
  uint32_t copies = 1;               // Of each partition, on different workers; > 0.
};

struct BalancedShares {
  std::vector<uint32_t> partitions;  // By worker: those that it is the first to compute.
  double step_seconds = 0;           // When the last one is done: the least possible.
};

// Minimises the time of the slowest share by bisection on the step's time T: worker i manages
// SamplesWithin(curve_i, T - fixed_i) samples (coded-gradient papers' proportional shares are the
// case without overheads). Of shares that tie, those whose late finishers have least. A worker
// whose overhead alone is too long gets nothing. kInvalidArgument: fewer workers than copies, or
// numbers out of range; kResource: no room, and for how many partitions.
Result<BalancedShares> BalanceShares(const ShareRequest& request);
// The least step time if work could be divided at will: a lower bound. Of sane requests with room.
double FluidSeconds(const ShareRequest& request);
// When the last one of such shares is done; infinite when one does not fit.
double StepSeconds(const ShareRequest& request, const std::vector<uint32_t>& partitions);

// Where copies are.
struct Placement {
  std::vector<std::vector<WorkerId>>
      holders;  // By partition: different workers, the primary first.
};

// Partitions of each worker that it is the primary of, and that it holds; workers beyond are left
// out.
struct HeldCounts {
  std::vector<uint32_t> primary;
  std::vector<uint32_t> held;
};
HeldCounts CountHeld(const Placement& placement, size_t workers);

// Primaries as `shares` says, in order of the workers. Each worker's backups are spread over the
// others in proportion to what these have to spare at a horizon H: the least time by which they can
// take over, in whole partitions, what any one of its size computes, none of them more than twice
// its proportional part. So when one worker dies and the first backups of its partitions compute
// them, nobody is later than H, unless room for copies is so short that it leaves no choice. The
// second backups are permuted against the first, so that what two workers back up for each other
// falls to many when both die. kResource: no room.
Result<Placement> PlaceCopies(const ShareRequest& request, const BalancedShares& shares);

// BalanceShares and PlaceCopies.
Result<Placement> PlaceBalanced(const ShareRequest& request);

struct CopyTransfer {
  PartitionId partition;
  WorkerId to;  // Did not hold it.

  bool operator==(const CopyTransfer&) const = default;
};

struct Relocation {
  Placement placement;
  std::vector<CopyTransfer> transfers;  // By partition.
  uint32_t switched = 0;                // Primaries that changed to a worker that held a copy.
};

// From a placement to one with other shares, of possibly other workers: `present` ones keep what
// they hold as far as possible, and become primaries of what they hold (which moves nothing) as
// far as that brings them nearer to their share. Every primary count is as in `shares`. Copies made
// are at least max(L, U) and at most L + U: L were lost with workers that are gone (or are more
// than there were), U partitions cannot be computed by any holder without making a share too large
// (as a maximum flow finds). So nothing moves when shares stay, a worker that joins costs its
// share, and one that leaves the copies that it held. kResource: no room.
Result<Relocation> MoveLeast(const Placement& old, const ShareRequest& request,
                             const BalancedShares& shares);

// How long the transfers take when the server sends the copies, `partition_bytes` each: all through
// its link, and each worker's through its own (`links` by worker).
double TransferSeconds(const std::vector<CopyTransfer>& transfers, double partition_bytes,
                       const std::vector<LinkProfile>& links, const LinkDirection& server);

// Whether the relocation pays for its transfers within the steps that remain, by what decides on
// all plans (WorthReplanning, scheduler/placement/plan.h): so noise alone moves nothing. Always
// where somebody who is gone computes something.
bool WorthMoving(const ShareRequest& request, const Placement& old, const Relocation& relocation,
                 double transfer_seconds, uint64_t remaining_steps);

}  // namespace motley
