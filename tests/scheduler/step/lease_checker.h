// SPDX-License-Identifier: Apache-2.0
// A step policy that checks another one: leases never overlap, and the vectors that end a step
// cover every partition exactly once.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "scheduler/step/step_policy.h"

namespace motley {

class LeaseChecker final : public StepPolicy {
 public:
  LeaseChecker(const StepSetting& setting, StepPolicy& policy);

  void Begin(std::vector<StepCommand>& out) override;
  void OnEvent(const StepEvent& event, double now, std::vector<StepCommand>& out) override;
  double NextTick() const override { return policy_.NextTick(); }

  // Descriptions of violations; empty if there are none.
  const std::vector<std::string>& violations() const { return violations_; }

 private:
  void See(const std::vector<StepCommand>& commands, size_t from);
  void See(const StepEvent& event);
  void Free(WorkerId worker, PartitionId partition);
  void Complain(const std::string& what, WorkerId worker, PartitionId partition);

  const StepSetting& setting_;
  StepPolicy& policy_;
  std::vector<std::vector<PartitionId>> lists_;
  std::vector<size_t> spent_;
  std::vector<bool> lost_;
  std::vector<int> leased_to_;  // By partition; -1: nobody.
  std::vector<int> covered_;
  std::vector<std::string> violations_;
};

}  // namespace motley
