// SPDX-License-Identifier: Apache-2.0
#include "scheduler/step/balance.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <utility>

namespace motley {
namespace {

// Gains too small to notice could repeat without end; these limits stop them.
constexpr double kLeastGain = 1e-3;  // Part of a partition's time.
constexpr int kRounds = 8;
constexpr double kNever = std::numeric_limits<double>::infinity();

class Balancing {
 public:
  Balancing(std::vector<BalanceWorker>& workers, const std::vector<std::vector<WorkerId>>& holders)
      : workers_(workers), holders_(holders), late_(workers.size()), one_more_(workers.size()) {
    for (WorkerId w = 0; w < workers_.size(); ++w) SetLate(w);
  }

  std::vector<BalanceMove> Run() {
    for (int round = 0; round < kRounds && Round(); ++round) {
    }
    std::vector<BalanceMove> result;
    for (const auto& [partition, move] : moves_) {
      if (move.from != move.to) result.push_back(move);
    }
    return result;
  }

 private:
  struct Choice {
    size_t index;  // Index into the giver's `movable`.
    WorkerId to;
    double done;
  };

  double Late(WorkerId w) const { return late_[w]; }
  void SetLate(WorkerId w) {
    const BalanceWorker& worker = workers_[w];
    late_[w] = worker.finish + worker.before;
    one_more_[w] = worker.takes ? late_[w] + worker.seconds : kNever;
  }

  // One pass over all workers, the latest first. Returns true when anything moved.
  bool Round() {
    earliest_ = kNever;
    for (const double done : one_more_) earliest_ = std::min(earliest_, done);
    std::vector<std::pair<double, WorkerId>> late_ones;
    for (WorkerId w = 0; w < workers_.size(); ++w) {
      if (late_[w] > earliest_ && !workers_[w].movable.empty()) late_ones.emplace_back(Late(w), w);
    }
    std::priority_queue latest(std::less<std::pair<double, WorkerId>>(), std::move(late_ones));
    bool moved = false;
    while (!latest.empty()) {
      const auto [late, w] = latest.top();
      latest.pop();
      // Nobody can help this worker, nor those that are done before it.
      if (late <= earliest_) break;
      if (late != Late(w)) {  // It took or gave a partition since.
        if (late > Late(w)) latest.emplace(Late(w), w);
        continue;
      }
      const std::optional<Choice> choice = Best(w);
      if (!choice) continue;
      Move(w, *choice);
      moved = true;
      latest.emplace(Late(w), w);
    }
    return moved;
  }

  // The worker that could have one of the partitions done first, with the last such partition in
  // order.
  std::optional<Choice> Best(WorkerId w) const {
    const BalanceWorker& giver = workers_[w];
    std::optional<Choice> best;
    // `limit` falls to the time of the best choice so far.
    double limit = Late(w) - kLeastGain * giver.seconds;
    for (size_t i = giver.movable.size(); i-- > 0;) {
      for (const WorkerId to : holders_[giver.movable[i]]) {
        const double done = one_more_[to];
        if (done < limit && to != w) {
          best = Choice{i, to, done};
          limit = done;
        }
      }
    }
    return best;
  }

  void Move(WorkerId from, const Choice& choice) {
    BalanceWorker& giver = workers_[from];
    BalanceWorker& taker = workers_[choice.to];
    const PartitionId partition = giver.movable[choice.index];
    giver.movable.erase(giver.movable.begin() + static_cast<std::ptrdiff_t>(choice.index));
    taker.movable.push_back(partition);
    giver.finish -= giver.seconds;
    taker.finish += taker.seconds;
    SetLate(from);
    SetLate(choice.to);
    earliest_ = std::min(earliest_, one_more_[from]);
    const auto [at, fresh] = moves_.try_emplace(partition, BalanceMove{partition, from, choice.to});
    if (!fresh) at->second.to = choice.to;
  }

  std::vector<BalanceWorker>& workers_;
  const std::vector<std::vector<WorkerId>>& holders_;
  // By worker: when it will be done, and when it would be with one more partition (never if it
  // takes none). Separate arrays, because they are read much more often than all else.
  std::vector<double> late_, one_more_;
  std::map<PartitionId, BalanceMove> moves_;
  double earliest_ = 0;  // No worker could have one more partition done before this time.
};

}  // namespace

std::vector<BalanceMove> Balance(std::vector<BalanceWorker>& workers,
                                 const std::vector<std::vector<WorkerId>>& holders) {
  return Balancing(workers, holders).Run();
}

}  // namespace motley
