// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <queue>
#include <utility>

#include "base/assert.h"
#include "scheduler/placement/load_balance.h"
#include "scheduler/placement/plan.h"

namespace motley {
namespace {

constexpr double kNothing = 1e-9;
constexpr uint32_t kFar = std::numeric_limits<uint32_t>::max();

class Relocating {
 public:
  Relocating(const Placement& old, const ShareRequest& request, const BalancedShares& shares)
      : old_(old), request_(request), target_(shares.partitions) {}

  Result<Relocation> Run() {
    Keep();
    SwitchPrimaries();
    MOTLEY_RETURN_IF_ERROR(MovePrimaries());
    MOTLEY_RETURN_IF_ERROR(FillUp());
    Relocation result;
    result.placement.holders = std::move(holders_);
    Compare(result);
    return result;
  }

 private:
  bool Present(WorkerId worker) const {
    return worker < request_.workers.size() && request_.workers[worker].present;
  }
  static bool Contains(const std::vector<WorkerId>& holders, WorkerId worker) {
    return std::find(holders.begin(), holders.end(), worker) != holders.end();
  }
  bool HasRoom(WorkerId worker) const {
    return held_[worker] < request_.workers[worker].most_partitions;
  }
  // The partitions that a worker holds in proportion to those that it computes. A worker that is
  // too slow to compute anything comes last.
  double Fullness(WorkerId worker) const {
    return (held_[worker] + 1.0) / std::max<double>(target_[worker], kNothing);
  }

  // Keeps the copies of present workers. The first of them becomes the primary.
  void Keep() {
    holders_.resize(request_.partitions);
    held_.assign(target_.size(), 0);
    for (PartitionId p = 0; p < holders_.size(); ++p) {
      for (const WorkerId worker : old_.holders[p]) {
        if (!Present(worker) || Contains(holders_[p], worker) || !HasRoom(worker)) continue;
        holders_[p].push_back(worker);
        ++held_[worker];
      }
    }
    // Partitions without a holder begin in FillUp at the workers that lack most.
    primaries_.assign(target_.size(), 0);
    for (const auto& holders : holders_) {
      if (!holders.empty()) ++primaries_[holders.front()];
    }
  }

  // Finds a maximum flow of partitions from workers with too many to workers with too few, through
  // holders of copies. It works in rounds over shortest paths (Dinic 1970).
  void SwitchPrimaries() {
    while (SetDistances()) {
      next_.assign(target_.size(), 0);
      for (WorkerId worker = 0; worker < target_.size(); ++worker) {
        while (primaries_[worker] > target_[worker] && Push(worker)) {
        }
      }
    }
  }

  // Sets each worker's distance from the workers that compute too much. Returns false if no worker
  // with too little can be reached.
  bool SetDistances() {
    owned_.assign(target_.size(), {});
    for (PartitionId p = 0; p < holders_.size(); ++p) {
      if (!holders_[p].empty()) owned_[holders_[p].front()].push_back(p);
    }
    distance_.assign(target_.size(), kFar);
    std::queue<WorkerId> reached;
    for (WorkerId worker = 0; worker < target_.size(); ++worker) {
      if (primaries_[worker] <= target_[worker]) continue;
      distance_[worker] = 0;
      reached.push(worker);
    }
    bool found = false;
    while (!reached.empty()) {
      const WorkerId from = reached.front();
      reached.pop();
      found = found || primaries_[from] < target_[from];
      for (const PartitionId p : owned_[from]) {
        for (const WorkerId to : holders_[p]) {
          if (distance_[to] != kFar) continue;
          distance_[to] = distance_[from] + 1;
          reached.push(to);
        }
      }
    }
    return found;
  }

  // Moves one partition on from each worker of a path that begins at `source` and ends at a worker
  // that computes too little. Returns false if no path of the shortest length is left.
  bool Push(WorkerId source) {
    struct Hop {
      PartitionId partition;
      WorkerId to;
    };
    std::vector<Hop> path;
    WorkerId at = source;
    while (primaries_[at] >= target_[at]) {
      const size_t length = path.size();
      for (size_t& i = next_[at]; i < owned_[at].size() && path.size() == length;) {
        const PartitionId p = owned_[at][i];
        const WorkerId to = NextHop(at, p);
        if (to == at) {
          ++i;
        } else {
          path.push_back({p, to});
        }
      }
      if (path.size() > length) {
        at = path.back().to;
        continue;
      }
      if (path.empty()) return false;
      // A dead end: the previous worker tries its next partition.
      distance_[at] = kFar;
      path.pop_back();
      at = path.empty() ? source : path.back().to;
    }
    WorkerId from = source;
    for (const Hop& hop : path) {
      MakePrimary(hop.to, hop.partition);
      ++next_[from];  // The partition is no longer its own.
      from = hop.to;
    }
    return true;
  }

  // A holder one step further from the sources; `at` itself if there is none.
  WorkerId NextHop(WorkerId at, PartitionId partition) const {
    for (const WorkerId to : holders_[partition]) {
      if (distance_[to] == distance_[at] + 1) return to;
    }
    return at;
  }

  // Precondition: `worker` holds the partition.
  void MakePrimary(WorkerId worker, PartitionId partition) {
    auto& holders = holders_[partition];
    const auto at = std::find(holders.begin(), holders.end(), worker);
    --primaries_[holders.front()];
    ++primaries_[worker];
    std::rotate(holders.begin(), at, at + 1);
  }

  // Partitions that the flow could not place need a new copy each. Those that lack a copy anyway go
  // first.
  Status MovePrimaries() {
    MOTLEY_RETURN_IF_ERROR(GiveAway(true));
    return GiveAway(false);
  }

  bool MayGive(PartitionId partition, bool lacking) const {
    const auto& holders = holders_[partition];
    return !holders.empty() && (holders.size() < request_.copies) == lacking &&
           primaries_[holders.front()] > target_[holders.front()];
  }

  // Takes partitions at equal distances from each worker with too many, because neighbours have the
  // same backups. Workers with too few take turns, so that each gets some from everybody.
  Status GiveAway(bool lacking) {
    std::vector<uint64_t> candidates(target_.size(), 0), seen(target_.size(), 0), excess;
    for (PartitionId p = 0; p < holders_.size(); ++p) {
      if (MayGive(p, lacking)) ++candidates[holders_[p].front()];
    }
    for (WorkerId worker = 0; worker < target_.size(); ++worker) {
      const uint64_t more = primaries_[worker] - std::min(primaries_[worker], target_[worker]);
      excess.push_back(std::min(more, candidates[worker]));
    }
    WorkerId taker = 0;
    for (PartitionId p = 0; p < holders_.size(); ++p) {
      if (!MayGive(p, lacking)) continue;
      const WorkerId owner = holders_[p].front();
      const uint64_t before = seen[owner]++ * excess[owner] / candidates[owner];
      if (before == seen[owner] * excess[owner] / candidates[owner]) continue;
      const std::optional<WorkerId> next = NextTaker(taker, p);
      if (!next) return Status::Ok();
      taker = *next + 1;
      MOTLEY_RETURN_IF_ERROR(MakeRoom(*next));
      holders_[p].push_back(*next);
      ++held_[*next];
      MakePrimary(*next, p);
    }
    return Status::Ok();
  }

  // The next worker from `first` on that computes too little. It does not hold the partition,
  // because the flow would have found that.
  std::optional<WorkerId> NextTaker(WorkerId first, PartitionId partition) const {
    for (size_t i = 0; i < target_.size(); ++i) {
      const auto worker = static_cast<WorkerId>((first + i) % target_.size());
      if (primaries_[worker] >= target_[worker]) continue;
      MOTLEY_ASSERT(!Contains(holders_[partition], worker));
      return worker;
    }
    return std::nullopt;
  }

  // A full worker drops a copy that another worker computes from.
  Status MakeRoom(WorkerId worker) {
    if (HasRoom(worker)) return Status::Ok();
    for (auto& holders : holders_) {
      if (holders.empty() || holders.front() == worker || !Contains(holders, worker)) continue;
      std::erase(holders, worker);
      --held_[worker];
      return Status::Ok();
    }
    return Status::Resource(
        fmt::format("worker {} has no room for the partitions that it is to compute", worker));
  }

  // Each partition gets the copies that it lacks, at the workers that hold least in proportion to
  // what they compute, and loses surplus copies.
  Status FillUp() {
    std::priority_queue<std::pair<double, WorkerId>, std::vector<std::pair<double, WorkerId>>,
                        std::greater<>>
        emptiest;
    for (WorkerId worker = 0; worker < target_.size(); ++worker) {
      if (Present(worker) && HasRoom(worker)) emptiest.emplace(Fullness(worker), worker);
    }
    for (PartitionId p = 0; p < holders_.size(); ++p) {
      DropSurplus(holders_[p]);
      std::vector<std::pair<double, WorkerId>> passed;
      while (holders_[p].size() < request_.copies) {
        if (emptiest.empty()) return NoRoom(p);
        const auto [fullness, worker] = emptiest.top();
        emptiest.pop();
        if (!HasRoom(worker)) continue;
        if (fullness != Fullness(worker)) {
          emptiest.emplace(Fullness(worker), worker);
        } else if (Contains(holders_[p], worker) || !MayBegin(p, worker)) {
          passed.emplace_back(fullness, worker);
        } else {
          Add(p, worker);
          // A worker that must not be its first holder can be its next one.
          if (holders_[p].size() == 1) {
            for (const auto& entry : std::exchange(passed, {})) emptiest.push(entry);
          }
          passed.emplace_back(Fullness(worker), worker);
        }
      }
      for (const auto& entry : passed) emptiest.push(entry);
    }
    return Status::Ok();
  }

  // A partition without any holder begins at a worker that computes too little.
  bool MayBegin(PartitionId partition, WorkerId worker) const {
    return !holders_[partition].empty() || primaries_[worker] < target_[worker];
  }

  void Add(PartitionId partition, WorkerId worker) {
    if (holders_[partition].empty()) ++primaries_[worker];
    holders_[partition].push_back(worker);
    ++held_[worker];
  }

  // Drops the last backups. A worker that gave a partition away comes right behind its new primary.
  void DropSurplus(std::vector<WorkerId>& holders) {
    for (; holders.size() > request_.copies; holders.pop_back()) --held_[holders.back()];
  }

  Status NoRoom(PartitionId partition) const {
    return Status::Resource(fmt::format(
        "partition {} finds no place for {} copies: those that have room hold it already. Ask for "
        "fewer copies, or add workers or memory",
        partition, request_.copies));
  }

  void Compare(Relocation& result) const {
    for (PartitionId p = 0; p < result.placement.holders.size(); ++p) {
      const auto& before = old_.holders[p];
      std::vector<WorkerId> now = result.placement.holders[p];
      const bool held = Contains(before, now.front());
      if (held && now.front() != before.front()) ++result.switched;
      std::sort(now.begin(), now.end());
      for (const WorkerId worker : now) {
        if (!Contains(before, worker)) result.transfers.push_back({p, worker});
      }
    }
  }

  const Placement& old_;
  const ShareRequest& request_;
  const std::vector<uint32_t>& target_;  // By worker: its number of primaries.
  std::vector<std::vector<WorkerId>> holders_;
  std::vector<uint32_t> held_, primaries_;
  // For one round of the flow:
  std::vector<std::vector<PartitionId>> owned_;
  std::vector<uint32_t> distance_;
  std::vector<size_t> next_;
};

}  // namespace

Result<Relocation> MoveLeast(const Placement& old, const ShareRequest& request,
                             const BalancedShares& shares) {
  MOTLEY_ASSERT(shares.partitions.size() == request.workers.size() &&
                old.holders.size() == request.partitions);
  return Relocating(old, request, shares).Run();
}

}  // namespace motley
