// SPDX-License-Identifier: Apache-2.0
// No worker is asked for a partition that was never placed on it, and nothing is decided once the
// job has ended.
#pragma once

#include <memory>
#include <set>
#include <vector>

#include "runtime/job.h"
#include "sim/checkers/violations.h"

namespace motley {

class PlacementChecker final : public JobObserver {
 public:
  PlacementChecker(Violations& violations, uint32_t workers)
      : violations_(violations), held_(workers) {}

  void OnWorkerJoined(WorkerId worker, const std::string& name) override;
  void OnCommand(const Command& command, Time now) override;

 private:
  void CheckAssigned(const AssignRow& assign);

  Violations& violations_;
  std::vector<std::set<PartitionId>> held_;
  std::shared_ptr<const CodeForm> form_;
  bool ended_ = false;
};

}  // namespace motley
