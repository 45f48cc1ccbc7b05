// SPDX-License-Identifier: Apache-2.0
#include "tests/scheduler/step/lease_checker.h"

#include <algorithm>

namespace motley {

LeaseChecker::LeaseChecker(const StepSetting& setting, StepPolicy& policy)
    : setting_(setting),
      policy_(policy),
      lists_(setting.workers.size()),
      spent_(setting.workers.size(), 0),
      lost_(setting.workers.size(), false),
      leased_to_(setting.holders.size(), -1),
      covered_(setting.holders.size(), 0) {}

void LeaseChecker::Complain(const std::string& what, WorkerId worker, PartitionId partition) {
  violations_.push_back(what + ": worker " + std::to_string(worker) + ", partition " +
                        std::to_string(partition));
}

void LeaseChecker::Begin(std::vector<StepCommand>& out) {
  const size_t from = out.size();
  policy_.Begin(out);
  See(out, from);
}

void LeaseChecker::OnEvent(const StepEvent& event, double now, std::vector<StepCommand>& out) {
  See(event);
  const size_t from = out.size();
  policy_.OnEvent(event, now, out);
  See(out, from);
}

void LeaseChecker::Free(WorkerId worker, PartitionId partition) {
  if (leased_to_[partition] != static_cast<int>(worker)) {
    Complain("given back by somebody else", worker, partition);
  }
  leased_to_[partition] = -1;
}

void LeaseChecker::See(const StepEvent& event) {
  if (const auto* released = std::get_if<ListReleased>(&event)) {
    if (lost_[released->worker]) return;
    auto& list = lists_[released->worker];
    for (const PartitionId p : released->partitions) {
      Free(released->worker, p);
      list.erase(std::find(list.begin() + static_cast<std::ptrdiff_t>(spent_[released->worker]),
                           list.end(), p));
    }
  } else if (const auto* arrived = std::get_if<VectorArrived>(&event)) {
    const WorkerId w = arrived->worker;
    if (lost_[w]) return;
    for (uint32_t i = 0; i < arrived->entries; ++i) ++covered_[lists_[w][spent_[w]++]];
  } else if (const auto* lost = std::get_if<StepWorkerLost>(&event)) {
    const WorkerId w = lost->worker;
    lost_[w] = true;
    for (size_t i = spent_[w]; i < lists_[w].size(); ++i) Free(w, lists_[w][i]);
    lists_[w].resize(spent_[w]);
  }
}

void LeaseChecker::See(const std::vector<StepCommand>& commands, size_t from) {
  for (size_t i = from; i < commands.size(); ++i) {
    if (const auto* extend = std::get_if<ExtendList>(&commands[i])) {
      for (const PartitionId p : extend->all()) {
        const auto& holders = setting_.holders[p];
        if (leased_to_[p] >= 0) Complain("leased twice", extend->worker, p);
        if (lost_[extend->worker]) Complain("leased to the lost", extend->worker, p);
        if (std::find(holders.begin(), holders.end(), extend->worker) == holders.end()) {
          Complain("leased to one that holds no copy", extend->worker, p);
        }
        leased_to_[p] = static_cast<int>(extend->worker);
        lists_[extend->worker].push_back(p);
      }
    } else if (std::holds_alternative<StepEnough>(commands[i])) {
      for (PartitionId p = 0; p < covered_.size(); ++p) {
        if (covered_[p] != 1) Complain("not covered exactly once", 0, p);
      }
    }
  }
}

}  // namespace motley
