// SPDX-License-Identifier: Apache-2.0
// No worker is asked for a partition that was never placed on it, and the server gives no command
// once the job has ended.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/job_event.h"
#include "sim/checkers/violations.h"

namespace motley {

class PlacementChecker final : public JobObserver {
 public:
  PlacementChecker(Violations& violations, uint32_t workers)
      : violations_(violations), held_(workers), checked_(workers) {}

  void OnEvent(const JobEvent& event) override;

 private:
  void On(const event::WorkerJoined& event);
  void On(const event::CommandGiven& event);

  void CheckAssigned(const AssignRow& assign);
  void CheckLeased(const ExtendLease& extend);
  bool Holds(WorkerId worker, PartitionId partition) const;

  Violations& violations_;
  std::vector<std::vector<bool>> held_;  // By worker and partition.
  using Form = std::shared_ptr<const CodeForm>;
  std::vector<std::pair<Form, RowId>> checked_;  // By worker: its last correct row.
  std::map<StepId, Form> forms_;                 // By open update.
  bool ended_ = false;
};

}  // namespace motley
