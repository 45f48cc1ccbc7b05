// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sync/bounded_staleness.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace motley {

BoundedStaleness::BoundedStaleness(uint32_t workers, uint64_t updates, SyncMode mode,
                                   SharedBatches batches)
    : updates_(updates), mode_(mode), clocks_(workers) {
  if (mode.least_bound) dynamic_.emplace(workers, *mode.least_bound, *mode.most_ahead);
  if (mode.in_order) turns_.emplace(workers);
  if (mode.in_order && batches) parts_.emplace(workers, std::move(batches));
}

// The largest number if no clock counts.
uint64_t BoundedStaleness::Slowest() const {
  uint64_t slowest = std::numeric_limits<uint64_t>::max();
  for (const Clock& clock : clocks_) {
    if (clock.counts) slowest = std::min(slowest, clock.updates);
  }
  return slowest;
}

bool BoundedStaleness::MayBegin(WorkerId worker, uint64_t slowest) const {
  const uint64_t own = clocks_[worker].updates;
  if (!mode_.MayBegin(own, slowest)) return false;
  return !dynamic_ || own <= slowest + *mode_.least_bound || dynamic_->Extra(worker, own);
}

std::vector<WorkerId> BoundedStaleness::Counting() const {
  std::vector<WorkerId> counting;
  for (WorkerId id = 0; id < clocks_.size(); ++id) {
    if (clocks_[id].counts) counting.push_back(id);
  }
  return counting;
}

// The slowest worker that may begin comes first.
std::optional<WorkerId> BoundedStaleness::Candidate(const Membership& members) const {
  if (opened_ >= updates_) return std::nullopt;
  const uint64_t slowest = Slowest();
  std::optional<WorkerId> next;
  for (WorkerId id = 0; id < clocks_.size(); ++id) {
    const Clock& clock = clocks_[id];
    if (!clock.counts || clock.begun || !members.Live(id) || !members[id].free) continue;
    if (!MayBegin(id, slowest)) continue;
    if (!next || clock.updates < clocks_[*next].updates) next = id;
  }
  return next;
}

std::optional<SyncPolicy::Opening> BoundedStaleness::Next(const Membership& members,
                                                          Time now) const {
  const std::optional<WorkerId> next = Candidate(members);
  if (!next) return std::nullopt;
  Opening opening{*next, {opened_, applied_}};
  if (!turns_) return opening;
  const std::vector<WorkerId> workers = Counting();
  if (now < turns_->Next(workers)) return std::nullopt;
  if (parts_) opening.part = parts_->Next(*next, workers, members.SpeedsOf(workers));
  return opening;
}

void BoundedStaleness::Opened(const Opening& opening, Time now) {
  clocks_[opening.lane].begun = true;
  const auto worker = static_cast<WorkerId>(opening.lane);
  if (dynamic_) dynamic_->Opened(worker, now);
  if (turns_) turns_->Opened(worker, now);
  if (parts_) parts_->Took(worker, *opening.part);
  ++opened_;
}

void BoundedStaleness::Committed(size_t lane, Time now) {
  clocks_[lane].begun = false;
  ++clocks_[lane].updates;
  ++applied_;
  if (turns_) turns_->Applied(static_cast<WorkerId>(lane), now);
  if (!dynamic_) return;
  dynamic_->Applied(static_cast<WorkerId>(lane), now);
  Extend(static_cast<WorkerId>(lane), now);
}

// Only the fastest worker gets extra updates, and only if it would have to wait.
void BoundedStaleness::Extend(WorkerId worker, Time now) {
  const uint64_t own = clocks_[worker].updates;
  const uint64_t slowest = Slowest();
  if (!clocks_[worker].counts || own <= slowest + *mode_.least_bound) return;
  std::vector<WorkerId> last;
  for (WorkerId id = 0; id < clocks_.size(); ++id) {
    if (!clocks_[id].counts) continue;
    if (clocks_[id].updates > own) return;
    if (clocks_[id].updates == slowest) last.push_back(id);
  }
  dynamic_->Extend(worker, own, last, now);
}

void BoundedStaleness::Enters(WorkerId worker) {
  if (worker >= clocks_.size() || clocks_[worker].counts) return;
  Clock& clock = clocks_[worker];
  const uint64_t slowest = Slowest();
  if (slowest != std::numeric_limits<uint64_t>::max()) {
    clock.updates = std::max(clock.updates, slowest);
  }
  clock.counts = true;
  if (dynamic_) dynamic_->Enters(worker);
}

void BoundedStaleness::Leaves(WorkerId worker) {
  if (worker < clocks_.size()) clocks_[worker].counts = false;
}

// The worker has nothing to do, and is not free: it has not sent the end of its work.
bool BoundedStaleness::Hangs(WorkerId worker, const Membership& members) const {
  const Clock& clock = clocks_[worker];
  return clock.counts && !clock.begun && !members[worker].free;
}

void BoundedStaleness::Tick(const Membership& members, Time now) {
  for (WorkerId id = 0; id < clocks_.size(); ++id) {
    if (Hangs(id, members) && members[id].Overdue(now)) clocks_[id].counts = false;
  }
}

Time BoundedStaleness::Due(const Membership& members) const {
  Time due = kNever;
  if (turns_ && Candidate(members)) due = turns_->Next(Counting());
  if (!mode_.bounded()) return due;
  for (WorkerId id = 0; id < clocks_.size(); ++id) {
    if (Hangs(id, members)) due = std::min(due, members[id].waiting_since + members[id].patience);
  }
  return due;
}

}  // namespace motley
