// SPDX-License-Identifier: Apache-2.0
// A step policy that wraps another one and checks its arithmetic. Every vector that arrives stands
// for a known sum of partitions. When a step ends, the scheme's own decoder must give each
// partition exactly once.
#pragma once

#include <deque>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "scheduler/step/step_policy.h"

namespace motley {

class AccountChecker final : public StepPolicy {
 public:
  // A vector that arrived: the sum of these partitions with the coefficients of row `row`.
  struct Vector {
    WorkerId worker;
    RowId row;
    std::vector<PartitionId> partitions;
  };
  // Returns an empty string if these vectors are enough to end the step, and what is wrong
  // otherwise. No vector is from a worker that was lost when it arrived.
  using Judge = std::function<std::string(const std::vector<Vector>&)>;

  AccountChecker(const StepSetting& setting, StepPolicy& policy, Judge judge);

  void Begin(std::vector<StepCommand>& out) override;
  void OnEvent(const StepEvent& event, double now, std::vector<StepCommand>& out) override;
  double NextTick() const override { return policy_.NextTick(); }
  double vector_fraction() const override { return policy_.vector_fraction(); }
  bool sends_each() const override { return policy_.sends_each(); }
  bool resends() const override { return policy_.resends(); }
  bool wants_progress() const override { return policy_.wants_progress(); }

  // Allows the policy to take back work that was not begun.
  void AllowRevokes() { revokes_ = true; }

  const std::vector<std::string>& violations() const { return violations_; }

 private:
  struct Entry {
    PartitionId partition;
    RowId row;
  };
  void See(const std::vector<StepCommand>& commands, size_t from);

  const StepSetting& setting_;
  StepPolicy& policy_;
  Judge judge_;
  std::vector<std::deque<Entry>> lists_;  // By worker: entries that no vector covers yet.
  std::vector<bool> lost_;
  std::vector<std::set<PartitionId>> sent_;  // By worker: partitions that it was sent.
  bool revokes_ = false;
  std::vector<Vector> vectors_;
  std::vector<std::string> violations_;
};

}  // namespace motley
