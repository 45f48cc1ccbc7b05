// SPDX-License-Identifier: Apache-2.0
// Leases in the virtual cluster: workers that compute their lists chunk by chunk, and a server that
// keeps track of them. The server reports a violation when a lease overlaps or a step is not
// covered exactly once.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "tests/scheduler/virtual_cluster.h"

namespace motley {
namespace {

constexpr WorkerId kNoWorker = std::numeric_limits<WorkerId>::max();
constexpr double kJitter = 0.03;  // Relative variation of compute times.

}  // namespace

// --- The server ---

void VirtualCluster::Do(const OpenLeases& command) {
  if (command.step != committed_) {
    Violate(fmt::format("step {} opened after {} commits", command.step, committed_));
  }
  if (committing_) Violate(fmt::format("step {} opened during a commit", command.step));
  leasing_ = true;
  for (WorkerId w = 0; w < fakes_.size(); ++w) fakes_[w].mirror = {};
  leased_to_.assign(options_.partitions, kNoWorker);
  covered_.assign(options_.partitions, false);
  Opened(command.step);
}

void VirtualCluster::Do(const ExtendLease& command) {
  if (!CheckLive(command.worker, "ExtendLease")) return;
  if (!leasing_ || open_ != command.step || committing_) Violate("a lease in no open step");
  if (command.partitions.empty()) Violate("an empty lease");
  Fake& fake = fakes_[command.worker];
  if (!fake.mirror.open) {
    fake.mirror = {};
    fake.mirror.open = true;
    fake.mirror.life = ++lists_;
  }
  for (const PartitionId p : command.partitions) {
    if (!fake.placed[p]) Violate("a lease of what is not placed");
    if (leased_to_[p] != kNoWorker) Violate(fmt::format("partition {} leased twice", p));
    if (covered_[p]) Violate(fmt::format("partition {} leased again, though it is there", p));
    leased_to_[p] = command.worker;
    fake.mirror.partitions.push_back(p);
  }
  ToWorker(command.worker, [this, command, life = fake.mirror.life](Fake& worker) {
    if (worker.list.life > life) return;
    if (worker.list.life != life) {
      worker.list = {};
      worker.list.step = command.step;
      worker.list.life = life;
    }
    worker.list.told = false;
    worker.list.partitions.insert(worker.list.partitions.end(), command.partitions.begin(),
                                  command.partitions.end());
    StartChunk(command.worker);
  });
}

void VirtualCluster::Do(const RevokeLease& command) {
  if (!CheckLive(command.worker, "RevokeLease")) return;
  LeaseMirror& mirror = fakes_[command.worker].mirror;
  if (!mirror.open) return Violate("a revocation without a lease");
  for (const PartitionId p : command.partitions) {
    if (leased_to_[p] != command.worker) Violate("a revocation of what is not leased");
  }
  ToWorker(command.worker, [this, command, life = mirror.life](Fake& worker) {
    LeaseReleased released{command.worker, command.step, {}};
    if (worker.list.life == life) {
      auto& all = worker.list.partitions;
      const auto begun = worker.list.done + worker.list.computing;
      std::erase_if(all, [&](const PartitionId& p) {
        const bool asked = std::find(command.partitions.begin(), command.partitions.end(), p) !=
                           command.partitions.end();
        if (!asked || &p < all.data() + begun) return false;
        released.partitions.push_back(p);
        return true;
      });
    }
    FromList(command.worker, life, 0, [this, released] {
      auto& all = fakes_[released.worker].mirror.partitions;
      for (const PartitionId p : released.partitions) {
        leased_to_[p] = kNoWorker;
        std::erase(all, p);
      }
      Tell(released);
    });
  });
}

void VirtualCluster::Do(const SendLease& command) {
  if (!CheckLive(command.worker, "SendLease")) return;
  if (!fakes_[command.worker].mirror.open) return Violate("a vector without a lease is asked for");
  const uint64_t list = fakes_[command.worker].mirror.life;
  ToWorker(command.worker, [this, command, list](Fake& worker) {
    if (worker.list.life != list) return;
    worker.list.told = true;
    if (worker.list.done == worker.list.partitions.size()) SendVector(command.worker);
  });
}

void VirtualCluster::VoidLeases(WorkerId worker) {
  LeaseMirror& mirror = fakes_[worker].mirror;
  for (size_t i = mirror.spent; mirror.open && i < mirror.partitions.size(); ++i) {
    leased_to_[mirror.partitions[i]] = kNoWorker;
  }
  mirror = {};
}

void VirtualCluster::CheckCoverage() {
  const auto missing = std::count(covered_.begin(), covered_.end(), false);
  if (missing > 0) Violate(fmt::format("a commit without {} partitions", missing));
}

void VirtualCluster::FromList(WorkerId worker, uint64_t life, double seconds, Task task) {
  const uint64_t as = fakes_[worker].life;
  loop_.After(FromSeconds(seconds), [this, worker, life, as, task = std::move(task)]() mutable {
    if (fakes_[worker].life != as) return;
    FromWorker(worker, [this, worker, life, task = std::move(task)] {
      const LeaseMirror& mirror = fakes_[worker].mirror;
      if (ended_) return;
      if (leasing_ && !committing_ && mirror.open && mirror.life == life) return task();
      if (fakes_[worker].server_live) Tell(WorkerProgress{worker, 0, Duration::zero()});
    });
  });
}

// --- The workers ---

void VirtualCluster::StartChunk(WorkerId worker) {
  Fake& fake = fakes_[worker];
  LeaseList& list = fake.list;
  const auto left = static_cast<uint32_t>(list.partitions.size()) - list.done;
  if (list.computing > 0 || left == 0) return;
  list.computing = std::min(left, report_every_);
  fake.job_started = loop_.Now();
  list.started = ++fake.job_number;
  const double noise = std::max(0.2, 1 + kJitter * random_.Normal());
  const double seconds =
      list.computing * (1.0 * options_.batch / options_.partitions) / fake.speed * noise;
  loop_.After(FromSeconds(seconds),
              [this, worker, number = list.started] { FinishChunk(worker, number); });
}

void VirtualCluster::FinishChunk(WorkerId worker, uint64_t number) {
  Fake& fake = fakes_[worker];
  LeaseList& list = fake.list;
  if (!fake.alive || list.started != number || list.computing == 0) return;
  if (fake.paused_until > loop_.Now()) {
    loop_.After(fake.paused_until - loop_.Now(),
                [this, worker, number] { FinishChunk(worker, number); });
    return;
  }
  list.done += std::exchange(list.computing, 0);
  list.compute += loop_.Now() - fake.job_started;
  FromList(
      worker, list.life, 0,
      [this, told = LeaseProgress{worker, list.step, list.done, list.compute}] { Tell(told); });
  if (list.told && list.done == list.partitions.size()) SendVector(worker);
  StartChunk(worker);
}

void VirtualCluster::SendVector(WorkerId worker) {
  Fake& fake = fakes_[worker];
  if (fake.list.done == fake.list.sent) return;
  const LeaseList as_sent = fake.list;
  fake.list.sent = fake.list.done;
  if (fake.withholds_from && as_sent.step >= *fake.withholds_from) return;
  const bool spoiled = fake.spoil.has_value();
  const uint64_t life = fake.life;
  loop_.After(FromSeconds(vector_seconds_), [this, worker, life, as_sent, spoiled] {
    if (fakes_[worker].life != life) return;
    FromWorker(worker, [this, worker, as_sent, spoiled] { VectorCame(worker, as_sent, spoiled); });
  });
}

void VirtualCluster::VectorCame(WorkerId worker, const LeaseList& as_sent, bool spoiled) {
  LeaseMirror& mirror = fakes_[worker].mirror;
  if (ended_) return;
  if (!leasing_ || committing_ || !mirror.open || mirror.life != as_sent.life) {
    return Tell(RowLate{worker, as_sent.step});
  }
  if (spoiled && fakes_[worker].spoil) {
    const bool touched = *fakes_[worker].spoil;
    fakes_[worker].spoil.reset();
    const Status why = Status::DataError("not finite");
    return Tell(RowRejected{worker, as_sent.step, 0, touched, why});
  }
  for (uint32_t i = as_sent.sent; i < as_sent.done; ++i) {
    const PartitionId p = as_sent.partitions[i];
    if (i != mirror.spent || mirror.partitions[i] != p) Violate("lists differ");
    if (leased_to_[p] != worker || covered_[p]) Violate(fmt::format("partition {} twice", p));
    leased_to_[p] = kNoWorker;
    covered_[p] = true;
    ++mirror.spent;
  }
  Tell(LeaseVector{worker, as_sent.step, as_sent.done - as_sent.sent});
}

}  // namespace motley
