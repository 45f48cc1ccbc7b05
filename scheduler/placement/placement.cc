// SPDX-License-Identifier: Apache-2.0
// Places backups by systematic sampling. The other workers lie on a ring, each with a length in
// proportion to its spare capacity. A worker's backups are points at equal distances on the ring.
// So each worker gets its proportional number of backups, rounded down or up.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "base/assert.h"
#include "scheduler/placement/load_balance.h"
#include "scheduler/placement/share_time.h"

namespace motley {
namespace {

// Any number of its multiples modulo 1 are spread evenly.
constexpr double kGolden = 0.6180339887498949;
// The most backups of one worker, as a multiple of its proportional share.
constexpr double kMostOfFair = 2;
constexpr double kPrecision = 1e-4;  // Relative precision of a part of the spare capacity.
// A worker that computes no partitions counts as if it computed this many. It backs up others only
// when nobody else can.
constexpr double kTooSlow = 1e-3;

// A number coprime to n, near n times the l-th multiple of the golden ratio. Counting in its steps
// visits all of 0..n-1, with neighbours far apart.
uint32_t SpreadStep(uint32_t n, uint32_t level) {
  if (level == 0 || n < 3) return 1;
  const double part = level * kGolden - std::floor(level * kGolden);
  auto step = static_cast<uint32_t>(std::clamp(part * n, 1.0, n - 1.0));
  while (std::gcd(step, n) != 1) step = step % n + 1;
  return step;
}

class Placing {
 public:
  Placing(const ShareRequest& request, const BalancedShares& shares)
      : request_(request), times_(request), count_(shares.partitions) {
    for (size_t i = 0; i < count_.size(); ++i) {
      const ShareWorker& worker = request.workers[i];
      const uint32_t most =
          worker.present ? std::min(worker.most_partitions, request.partitions) : 0;
      MOTLEY_ASSERT(count_[i] <= most);
      room_.push_back(most - count_[i]);
    }
  }

  Result<Placement> Run() {
    PlacePrimaries();
    const uint32_t backups = request_.copies - 1;
    const uint64_t room = std::accumulate(room_.begin(), room_.end(), uint64_t{0});
    const uint64_t wanted = uint64_t{backups} * request_.partitions;
    if (room < wanted) {
      return Status::Resource(fmt::format(
          "{} backup copies do not fit: the workers have room for {} beside what they compute "
          "themselves. Ask for fewer copies, or add workers or memory",
          wanted, room));
    }
    if (backups > 0) {
      ring_of_.assign(count_.size(), 0);
      most_ = SpareOf(std::numeric_limits<double>::infinity());
      spare_.assign(count_.size(), 0);
      for (const auto& [size, workers] : ClassesOfSize()) MakeRing(size, workers);
      for (uint32_t level = 0; level < backups; ++level) {
        for (WorkerId worker = 0; worker < count_.size(); ++worker) {
          MOTLEY_RETURN_IF_ERROR(PlaceLevel(worker, level));
        }
      }
    }
    return std::move(placement_);
  }

 private:
  // The capacity that the others offer to workers of one size, as lengths on the ring.
  struct Ring {
    std::vector<double> end;  // By worker: where its segment ends.

    double Begin(WorkerId worker) const { return worker == 0 ? 0 : end[worker - 1]; }
    double Length(WorkerId worker) const { return end[worker] - Begin(worker); }
    double Total() const { return end.back(); }
    WorkerId At(double point) const {
      const auto found = std::upper_bound(end.begin(), end.end(), point);
      return static_cast<WorkerId>(std::min<size_t>(found - begin(end), end.size() - 1));
    }
  };

  void PlacePrimaries() {
    placement_.holders.resize(request_.partitions);
    first_.assign(count_.size(), 0);
    PartitionId next = 0;
    for (WorkerId worker = 0; worker < count_.size(); ++worker) {
      first_[worker] = next;
      for (uint32_t i = 0; i < count_[worker]; ++i) {
        placement_.holders[next].reserve(request_.copies);
        placement_.holders[next++].push_back(worker);
      }
    }
    MOTLEY_ASSERT(next == request_.partitions);
  }

  // Workers by the number of partitions that they compute, without those that compute none.
  std::vector<std::pair<uint32_t, std::vector<WorkerId>>> ClassesOfSize() const {
    std::vector<WorkerId> order;
    for (WorkerId i = 0; i < count_.size(); ++i) {
      if (count_[i] > 0) order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](WorkerId a, WorkerId b) { return count_[a] < count_[b]; });
    std::vector<std::pair<uint32_t, std::vector<WorkerId>>> classes;
    for (const WorkerId i : order) {
      if (classes.empty() || classes.back().first != count_[i]) classes.push_back({count_[i], {}});
      classes.back().second.push_back(i);
    }
    return classes;
  }

  uint32_t Spare(WorkerId worker, double horizon) const {
    const uint32_t whole = times_.Whole(worker, horizon);
    return std::min(room_[worker], whole > count_[worker] ? whole - count_[worker] : 0);
  }

  // For each of these workers, the spare capacity of all others, limited to `part` of what each
  // computes; the least such value.
  double SpareOfOthers(const std::vector<WorkerId>& workers, const std::vector<double>& spare,
                       double part) const {
    double all = 0, own = 0;
    for (WorkerId i = 0; i < spare.size(); ++i) all += std::min(spare[i], part * Fair(i));
    for (const WorkerId i : workers) own = std::max(own, std::min(spare[i], part * Fair(i)));
    return all - own;
  }

  double Fair(WorkerId worker) const { return std::max<double>(count_[worker], kTooSlow); }

  std::vector<double> SpareOf(double horizon) const {
    std::vector<double> spare;
    spare.reserve(count_.size());
    for (WorkerId i = 0; i < count_.size(); ++i) spare.push_back(Spare(i, horizon));
    return spare;
  }

  // Makes the ring for workers that compute `size` partitions each. It has as much of the spare
  // capacity at the horizon as is needed, in proportion to the partitions that each worker
  // computes. The backups of all workers together are then in proportion, too. Call it for smaller
  // sizes first.
  void MakeRing(uint32_t size, const std::vector<WorkerId>& workers) {
    const double fair = static_cast<double>(size) / request_.partitions;
    double part = kMostOfFair * fair;
    if (SpareOfOthers(workers, most_, part) < size) part = request_.partitions / kTooSlow;
    if (SpareOfOthers(workers, spare_, part) < size) {
      spare_ = SpareOf(times_.LeastTime(
          [&](double t) { return SpareOfOthers(workers, SpareOf(t), part) >= size; }));
    }
    double least = 0;
    while (part - least > kPrecision * part) {
      const double middle = least + (part - least) / 2;
      (SpareOfOthers(workers, spare_, middle) >= size ? part : least) = middle;
    }
    Ring ring;
    ring.end.reserve(spare_.size());
    double end = 0;
    for (WorkerId i = 0; i < spare_.size(); ++i) {
      end += std::min(spare_[i], part * Fair(i));
      ring.end.push_back(end);
    }
    for (const WorkerId i : workers) ring_of_[i] = rings_.size();
    rings_.push_back(std::move(ring));
  }

  // Places one backup for each partition that `worker` computes.
  Status PlaceLevel(WorkerId worker, uint32_t level) {
    const uint32_t n = count_[worker];
    if (n == 0) return Status::Ok();
    const Ring& ring = rings_[ring_of_[worker]];
    const double begin = ring.Begin(worker);
    const double own = ring.Length(worker);
    const double length = std::max(0.0, ring.Total() - own);
    const double turns = kGolden * static_cast<double>(turn_++);
    const double phase = turns - std::floor(turns);
    const uint32_t step = SpreadStep(n, level);
    for (uint32_t j = 0; j < n; ++j) {
      const auto index = static_cast<uint32_t>(uint64_t{j} * step % n);
      double point = (index + phase) / n * length;
      if (point >= begin) point += own;
      MOTLEY_RETURN_IF_ERROR(GiveTo(ring.At(point), first_[worker] + j));
    }
    return Status::Ok();
  }

  bool Holds(WorkerId worker, PartitionId partition) const {
    const auto& holders = placement_.holders[partition];
    return std::find(holders.begin(), holders.end(), worker) != holders.end();
  }

  // Gives the copy to `worker`, or to the next worker that can hold it.
  Status GiveTo(WorkerId worker, PartitionId partition) {
    for (size_t tries = 0; tries < count_.size(); ++tries) {
      const auto next = static_cast<WorkerId>((worker + tries) % count_.size());
      if (room_[next] == 0 || Holds(next, partition)) continue;
      --room_[next];
      placement_.holders[partition].push_back(next);
      return Status::Ok();
    }
    return Exchange(partition);
  }

  // All workers with room hold the partition. One of them takes a backup of another partition from
  // a worker that can hold this one.
  Status Exchange(PartitionId partition) {
    for (WorkerId free = 0; free < count_.size(); ++free) {
      if (room_[free] == 0) continue;
      for (PartitionId other = 0; other < placement_.holders.size(); ++other) {
        if (Holds(free, other)) continue;
        auto& holders = placement_.holders[other];
        for (size_t i = 1; i < holders.size(); ++i) {
          if (Holds(holders[i], partition)) continue;
          placement_.holders[partition].push_back(holders[i]);
          holders[i] = free;
          --room_[free];
          return Status::Ok();
        }
      }
    }
    return Status::Resource(fmt::format(
        "partition {} finds no place for another copy: those that have room hold it already. Ask "
        "for fewer copies, or add workers or memory",
        partition));
  }

  const ShareRequest& request_;
  const ShareTimes times_;
  const std::vector<uint32_t>& count_;  // Primaries, by worker.
  std::vector<uint32_t> room_;          // For more copies.
  std::vector<PartitionId> first_;      // Primary partitions of a worker follow each other.
  Placement placement_;
  std::vector<double> most_;   // By worker: its spare capacity if time does not matter.
  std::vector<double> spare_;  // The same at the horizon of the largest size so far.
  std::vector<Ring> rings_;
  std::vector<size_t> ring_of_;  // By worker.
  uint64_t turn_ = 0;
};

}  // namespace

Result<Placement> PlaceCopies(const ShareRequest& request, const BalancedShares& shares) {
  MOTLEY_ASSERT(shares.partitions.size() == request.workers.size());
  return Placing(request, shares).Run();
}

}  // namespace motley
