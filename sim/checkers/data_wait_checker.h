// SPDX-License-Identifier: Apache-2.0
// I11: a step with leases does not wait for data on their way to one worker while other workers
// already have copies of all partitions. Only scenarios whose sole faults are workers that die and
// come back are judged, because other faults teach the server longer timeouts.
#pragma once

#include <vector>

#include "runtime/job_event.h"
#include "sim/checkers/violations.h"
#include "sim/data_arrivals.h"
#include "sim/sim_cluster.h"

namespace motley {

class DataWaitChecker final : public JobObserver {
 public:
  // All are borrowed. `vector_length` is in floats.
  DataWaitChecker(Violations& violations, const SimOptions& options, DataArrivals& arrivals,
                  size_t vector_length);

  void OnEvent(const JobEvent& event) override;

  uint64_t judged() const { return judged_; }  // Steps that were judged.

 private:
  void On(const event::WorkerJoined& event);
  void On(const event::WorkerLost& event);
  void On(const event::CommandGiven& event);
  void On(const event::StepOpened& event);
  void On(const event::VectorArrived& event) { last_ = event.worker; }
  void On(const event::StepApplied& event);

  struct Worker {
    bool there = false;
    bool waits = false;       // Its data were on their way when the step opened.
    std::vector<bool> holds;  // By partition: it was sent.
  };
  bool AllThere(WorkerId worker) const;
  double SecondsAlone() const;

  Violations& violations_;
  DataArrivals& arrivals_;
  const SimOptions& options_;
  const bool judges_;
  PartitionId partitions_ = 0;  // One more than the highest that was sent to any worker.
  double words_seconds_ = 0;    // The time of all messages of a step.
  std::vector<Worker> workers_;
  WorkerId last_ = 0;  // The sender of the newest vector.
  Time opened_{};
  double limit_ = 0;  // Seconds for the open step; 0: it is not judged.
  uint64_t judged_ = 0;
};

}  // namespace motley
