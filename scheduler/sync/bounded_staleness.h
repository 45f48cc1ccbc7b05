// SPDX-License-Identifier: Apache-2.0
// Asynchronous training: each worker has a lane, and its gradient is an update of its own, which is
// applied when it arrives. The worker's next update then starts from the newest version.
//
// With a bound S, no worker begins an update while it is more than S updates ahead of the slowest
// one (stale synchronous parallel, Ho et al., NIPS 2013). S = 0 lets all do the same number of
// updates, and no bound is plain asynchronous training.
//
//   S = 1, clocks 2 1 3: workers 0 and 1 may begin; worker 2 waits until worker 1 has done another
//
// The bound may also vary between two bounds: workers up to the lower one ahead may begin, none
// beyond the upper one may, and between them the fastest ones may do extra updates (DynamicBound).
//
// A worker's clock counts its updates. The slowest clock is that of workers which compute or may
// begin. A worker leaves the clocks when it is gone, and when it is overdue although its update was
// applied: it hangs, or another worker did the update in its place. It enters again when it is
// free, not behind the slowest. So the slowest worker can always go on, or another one does its
// update, and no wait lasts.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "scheduler/sync/batch_parts.h"
#include "scheduler/sync/dynamic_bound.h"
#include "scheduler/sync/even_turns.h"
#include "scheduler/sync/sync_policy.h"

namespace motley {

class BoundedStaleness final : public SyncPolicy {
 public:
  // Lane w is that of worker w < `workers`. There are `updates` in all. `batches` is for in_order.
  BoundedStaleness(uint32_t workers, uint64_t updates, SyncMode mode, SharedBatches batches = {});

  std::optional<Opening> Next(const Membership& members, Time now) const override;
  void Opened(const Opening& opening, Time now) override;
  void Committed(size_t lane, Time now) override;
  void Enters(WorkerId worker) override;
  void Leaves(WorkerId worker) override;
  void Tick(const Membership& members, Time now) override;
  Time Due(const Membership& members) const override;

 private:
  struct Clock {
    uint64_t updates = 0;  // Number of the worker's updates.
    bool counts = false;   // The worker is among those whose clocks are compared.
    bool begun = false;    // Its lane has an update that is not applied yet.
  };

  uint64_t Slowest() const;
  bool MayBegin(WorkerId worker, uint64_t slowest) const;
  std::optional<WorkerId> Candidate(const Membership& members) const;
  std::vector<WorkerId> Counting() const;
  void Extend(WorkerId worker, Time now);
  bool Hangs(WorkerId worker, const Membership& members) const;

  const uint64_t updates_;
  const SyncMode mode_;
  std::vector<Clock> clocks_;            // By worker.
  std::optional<DynamicBound> dynamic_;  // None if the bound does not vary.
  std::optional<EvenTurns> turns_;       // None if there are no turns.
  std::optional<BatchParts> parts_;      // None if each update has a batch of its own.
  uint64_t opened_ = 0;
  uint64_t applied_ = 0;
};

}  // namespace motley
