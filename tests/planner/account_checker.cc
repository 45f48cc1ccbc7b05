// SPDX-License-Identifier: Apache-2.0
#include "tests/planner/account_checker.h"

#include <algorithm>
#include <utility>

#include "fmt/core.h"

namespace motley {

AccountChecker::AccountChecker(const StepSetting& setting, StepPolicy& policy, Judge judge)
    : setting_(setting),
      policy_(policy),
      judge_(std::move(judge)),
      lists_(setting.workers.size()),
      lost_(setting.workers.size(), false),
      sent_(setting.workers.size()) {}

void AccountChecker::Begin(std::vector<StepCommand>& out) {
  const size_t from = out.size();
  policy_.Begin(out);
  See(out, from);
}

void AccountChecker::OnEvent(const StepEvent& event, double now, std::vector<StepCommand>& out) {
  if (const auto* lost = std::get_if<StepWorkerLost>(&event)) lost_[lost->worker] = true;
  if (const auto* released = std::get_if<ListReleased>(&event)) {
    std::erase_if(lists_[released->worker], [&](const Entry& entry) {
      const auto& all = released->partitions;
      return std::find(all.begin(), all.end(), entry.partition) != all.end();
    });
  }
  if (const auto* arrived = std::get_if<VectorArrived>(&event)) {
    auto& list = lists_[arrived->worker];
    if (arrived->entries == 0 || arrived->entries > list.size()) {
      violations_.push_back(fmt::format("worker {} sent {} entries of {}", arrived->worker,
                                        arrived->entries, list.size()));
    } else if (!lost_[arrived->worker]) {
      Vector vector{arrived->worker, list.front().row, {}};
      for (uint32_t i = 0; i < arrived->entries; ++i) {
        if (list[i].row != vector.row) violations_.push_back("one vector mixes two rows");
        vector.partitions.push_back(list[i].partition);
      }
      vectors_.push_back(std::move(vector));
      if (!policy_.resends()) list.erase(list.begin(), list.begin() + arrived->entries);
    }
  }
  const size_t from = out.size();
  policy_.OnEvent(event, now, out);
  See(out, from);
}

void AccountChecker::See(const std::vector<StepCommand>& commands, size_t from) {
  for (size_t i = from; i < commands.size(); ++i) {
    if (const auto* extend = std::get_if<ExtendList>(&commands[i])) {
      if (lost_[extend->worker]) violations_.push_back("a lost worker was given work");
      auto& sent = sent_[extend->worker];
      if (extend->data > 0) sent.insert(extend->all().begin(), extend->all().end());
      for (const PartitionId p : extend->all()) {
        const auto& holders = setting_.holders[p];
        const bool holds =
            std::find(holders.begin(), holders.end(), extend->worker) != holders.end();
        if (!holds && !sent.contains(p)) {
          violations_.push_back(fmt::format("worker {} holds no copy of {}", extend->worker, p));
        }
        lists_[extend->worker].push_back({p, extend->row});
      }
    } else if (std::holds_alternative<RevokeList>(commands[i]) && !revokes_) {
      violations_.push_back("a policy with fixed rows took work back");
    } else if (std::holds_alternative<StepEnough>(commands[i])) {
      std::string wrong = judge_(vectors_);
      if (!wrong.empty()) violations_.push_back(std::move(wrong));
    }
  }
}

}  // namespace motley
