// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker/lease_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "scheduler/step/pieces.h"

namespace motley {
LeaseTask::LeaseTask(Loop& loop, std::shared_ptr<Workshop> shop, const Lease& lease)
    : loop_(loop),
      shop_(std::move(shop)),
      lease_(lease),
      ranges_(shop_->schedule.SharedRanges(lease.step)) {}

Status LeaseTask::Extend(std::span<const PartitionId> partitions) {
  if (list_.size() + partitions.size() > ranges_->size()) {
    return Status::DataError(fmt::format("a list of {} partitions, of which there are {}",
                                         list_.size() + partitions.size(), ranges_->size()));
  }
  list_.insert(list_.end(), partitions.begin(), partitions.end());
  return Status::Ok();
}

std::vector<PartitionId> LeaseTask::Release(const std::vector<PartitionId>& asked) {
  std::vector<bool> wanted(ranges_->size(), false);
  for (const PartitionId p : asked) wanted[p] = true;
  std::vector<PartitionId> released;
  const auto begin = list_.begin() + static_cast<std::ptrdiff_t>(started_);
  const auto end =
      std::stable_partition(begin, list_.end(), [&wanted](PartitionId p) { return !wanted[p]; });
  released.assign(end, list_.end());
  list_.erase(end, list_.end());
  return released;
}

bool LeaseTask::Ready() const {
  return !computing() && !cancelled() && done_ < list_.size() &&
         shop_->store.contains(list_[done_]);
}

// Whole partitions that are here, until there are enough samples.
size_t LeaseTask::ChunkEnd() const {
  uint64_t left = 0;
  for (size_t i = done_; i < list_.size(); ++i) left += Samples(i);
  // A trainer that cuts them once more, for devices that share them, has less than one piece each.
  const uint64_t wanted = LeasePieceSamples(left) * (shop_->trainer->cuts_work() ? 2 : 1);
  uint64_t samples = 0;
  size_t end = done_;
  while (end < list_.size() && samples < wanted && shop_->store.contains(list_[end])) {
    samples += Samples(end++);
  }
  return end;
}

void LeaseTask::Compute(ParameterCopy parameters, std::shared_ptr<std::vector<float>> sum,
                        bool last, Hooks hooks) {
  hooks_ = std::move(hooks);
  started_ = ChunkEnd();
  terms_.clear();
  for (size_t i = done_; i < started_; ++i) {
    const PartitionId p = list_[i];
    if (Samples(i) == 0) continue;
    if (!terms_.empty() && terms_.back().end == p) {
      ++terms_.back().end;
    } else {
      terms_.push_back({p, p + 1, 1.0});
    }
  }
  last = last && started_ == list_.size();
  if (terms_.empty() && !(last && held())) {  // None of them has a sample in this batch.
    loop_.Post([self = shared_from_this()] { self->OnChunk(Trainer::Outcome()); });
    return;
  }
  Accumulate(std::move(parameters), std::move(sum), last);
}

void LeaseTask::Fetch(std::shared_ptr<std::vector<float>> sum, Hooks hooks) {
  hooks_ = std::move(hooks);
  terms_.clear();
  Accumulate(held_, std::move(sum), /*last=*/true);
}

void LeaseTask::Accumulate(ParameterCopy parameters, std::shared_ptr<std::vector<float>> sum,
                           bool last) {
  GradientWork work;
  work.step = lease_.step;
  work.version = lease_.version;
  work.parameters = *parameters;
  work.terms = terms_;
  work.sum = *sum;
  work.more = shop_->trainer->keeps_sums() && !last;
  work.continues = held();
  work.progress = [self = shared_from_this()](uint64_t) {
    if (self->hooks_.progress) self->hooks_.progress();
  };
  held_ = work.more ? parameters : nullptr;
  // The callback keeps all that the device reads and writes.
  shop_->trainer->Accumulate(
      std::move(work), cancel_,
      [self = shared_from_this(), parameters, sum](const Result<Trainer::Outcome>& outcome) {
        self->OnChunk(outcome);
      });
}

void LeaseTask::OnChunk(const Result<Trainer::Outcome>& outcome) {
  if (outcome.ok()) compute_ += outcome->compute;
  Status status = outcome.ok() ? Status::Ok() : outcome.status();
  if (cancelled()) status = Status::Cancelled("the lease is not needed any more");
  if (status.ok()) {
    done_ = started_;
    tally_.Add(1, outcome->tally);
  } else {
    started_ = done_;
  }
  const Hooks hooks = std::exchange(hooks_, Hooks());
  if (hooks.done) hooks.done(std::move(status));
}

void LeaseTask::Cancel() { *cancel_ = true; }

void LeaseTask::Abandon() {
  *cancel_ = true;
  hooks_ = Hooks();
}

}  // namespace motley
