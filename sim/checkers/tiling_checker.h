// SPDX-License-Identifier: Apache-2.0
// Checks steps with leases. I2: a step is committed only when the vectors that arrived tile all
// partitions. I3: a partition is leased to one worker at a time, and counts once, from that worker.
#pragma once

#include <string>
#include <vector>

#include "runtime/job_event.h"
#include "sim/checkers/violations.h"

namespace motley {

class TilingChecker final : public JobObserver {
 public:
  TilingChecker(Violations& violations, uint32_t workers)
      : violations_(violations), joined_(workers, false) {}

  void OnEvent(const JobEvent& event) override;

 private:
  void On(const event::WorkerJoined& event);
  void On(const event::WorkerLost& event);
  void On(const event::CommandGiven& event);
  void On(const event::StepOpened& event);
  void On(const event::VectorArrived& event);
  void On(const event::LeaseReleased& event);
  void On(const event::VectorRefused& event);
  void On(const event::StepDecoded& event);

  static constexpr int kNobody = -1;
  static constexpr int kCovered = -2;

  void Lease(const ExtendLease& extend);
  void FreeAllOf(WorkerId worker);
  // True if the partition is leased to this worker; otherwise adds a violation and returns false.
  bool Expect(StepId step, WorkerId worker, PartitionId partition, const char* what);

  Violations& violations_;
  std::vector<bool> joined_;
  std::vector<int> owner_;  // By partition.
  StepId step_ = 0;
  bool leasing_ = false;
};

}  // namespace motley
