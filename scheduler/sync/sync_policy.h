// SPDX-License-Identifier: Apache-2.0
// Which updates of a job are open at a time, and from which version of the parameters each of them
// starts. How the work of one update is shared is another matter (StepEngine). Pure.
//
// Updates are worked off in lanes: each lane has at most one update that is not applied yet. With a
// barrier there is one lane, whose update all workers share. Update t starts from version t:
//
//   Next() = {0, 0}   Opened(0)   Next() = none   Committed(0)   Next() = {1, 1}
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/ids.h"
#include "scheduler/membership.h"
#include "scheduler/sync/batch_parts.h"

namespace motley {

class SyncPolicy {
 public:
  struct Opening {
    size_t lane = 0;
    Update update;
    std::optional<BatchPart> part = std::nullopt;  // None: all of its batch.
  };

  virtual ~SyncPolicy() = default;

  // The update to open next; none until something else happens, or until Due. Asking changes
  // nothing.
  virtual std::optional<Opening> Next(const Membership& members, Time now) const = 0;
  // The update of Next() was opened. One that is opened again is not reported again.
  virtual void Opened(const Opening& opening, Time now) = 0;
  // The update of the lane was applied, so one more version exists.
  virtual void Committed(size_t lane, Time now) = 0;
  // The worker is free for work.
  virtual void Enters(WorkerId) {}
  // The worker is gone.
  virtual void Leaves(WorkerId) {}
  // Time passed. Due is when it matters next.
  virtual void Tick(const Membership&, Time) {}
  virtual Time Due(const Membership&) const { return kNever; }
};

// The policy for the options, which were checked. `batches` are those that turns share; null if
// they share none.
std::unique_ptr<SyncPolicy> MakeSyncPolicy(const SchedulerOptions& options, SharedBatches batches);

// Bulk-synchronous training (Valiant 1990): each update starts from the result of the one before.
class Barrier final : public SyncPolicy {
 public:
  // The first `applied` updates were applied in an earlier run.
  explicit Barrier(uint64_t applied) : applied_(applied) {}

  std::optional<Opening> Next(const Membership&, Time) const override {
    if (open_) return std::nullopt;
    return Opening{0, {applied_, applied_}};
  }
  void Opened(const Opening&, Time) override { open_ = true; }
  void Committed(size_t, Time) override {
    open_ = false;
    ++applied_;
  }

 private:
  uint64_t applied_;
  bool open_ = false;
};

}  // namespace motley
