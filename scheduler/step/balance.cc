// SPDX-License-Identifier: Apache-2.0
#include "scheduler/step/balance.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <queue>

namespace motley {
namespace {

// Turns without end for gains that nobody could see are cut off here.
constexpr double kLeastGain = 1e-3;  // Of a partition's time.
constexpr int kRounds = 8;

class Balancing {
 public:
  Balancing(std::vector<BalanceWorker>& workers, const std::vector<std::vector<WorkerId>>& holders)
      : workers_(workers), holders_(holders) {}

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
    size_t index;  // In the movable ones of the giver.
    WorkerId to;
    double done;
  };

  double Late(WorkerId w) const { return workers_[w].finish + workers_[w].before; }

  // Goes once through all, the latest first. True when anything moved.
  bool Round() {
    std::priority_queue<std::pair<double, WorkerId>> latest;
    earliest_ = std::numeric_limits<double>::infinity();
    for (WorkerId w = 0; w < workers_.size(); ++w) {
      if (!workers_[w].movable.empty()) latest.emplace(Late(w), w);
      if (workers_[w].takes) earliest_ = std::min(earliest_, Late(w) + workers_[w].seconds);
    }
    bool moved = false;
    while (!latest.empty()) {
      const auto [late, w] = latest.top();
      latest.pop();
      if (late <= earliest_) break;  // Nobody can help this one, nor those that are done before it.
      if (late != Late(w)) {         // It was given something, or gave, since.
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

  // Who could have one of the worker's partitions done first; the last such in its order.
  std::optional<Choice> Best(WorkerId w) const {
    const BalanceWorker& giver = workers_[w];
    std::optional<Choice> best;
    const double limit = Late(w) - kLeastGain * giver.seconds;
    for (size_t i = giver.movable.size(); i-- > 0;) {
      for (const WorkerId to : holders_[giver.movable[i]]) {
        if (to == w || !workers_[to].takes) continue;
        const double done = Late(to) + workers_[to].seconds;
        if (done < limit && (!best || done < best->done)) best = Choice{i, to, done};
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
    if (giver.takes) earliest_ = std::min(earliest_, Late(from) + giver.seconds);
    const auto [at, fresh] = moves_.try_emplace(partition, BalanceMove{partition, from, choice.to});
    if (!fresh) at->second.to = choice.to;
  }

  std::vector<BalanceWorker>& workers_;
  const std::vector<std::vector<WorkerId>>& holders_;
  std::map<PartitionId, BalanceMove> moves_;
  double earliest_ = 0;  // Nobody could have one more done before.
};

}  // namespace

std::vector<BalanceMove> Balance(std::vector<BalanceWorker>& workers,
                                 const std::vector<std::vector<WorkerId>>& holders) {
  return Balancing(workers, holders).Run();
}

}  // namespace motley
