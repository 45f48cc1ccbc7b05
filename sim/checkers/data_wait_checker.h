// SPDX-License-Identifier: Apache-2.0
// I11: a step that is worked off by leases does not wait for data that are on their way to one
// worker, which is the last to answer, while others hold all of its partitions, and have them.
// Judged where nothing goes wrong but that workers are killed and come back; other faults teach the
// server longer patience.
#pragma once

#include <vector>

#include "runtime/job_event.h"
#include "sim/checkers/violations.h"
#include "sim/data_arrivals.h"
#include "sim/sim_cluster.h"

namespace motley {

class DataWaitChecker final : public JobObserver {
 public:
  // All borrowed. `vector_length` in floats.
  DataWaitChecker(Violations& violations, const SimOptions& options, DataArrivals& arrivals,
                  size_t vector_length);

  void OnEvent(const JobEvent& event) override;

  uint64_t judged() const { return judged_; }  // Steps.

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
    std::vector<bool> holds;  // By partition, or will.
  };
  bool AllThere(WorkerId worker) const;
  double SecondsAlone() const;

  Violations& violations_;
  DataArrivals& arrivals_;
  const SimOptions& options_;
  const bool judges_;
  PartitionId partitions_ = 0;  // Of which somebody was ever sent one.
  double words_seconds_ = 0;    // What messages take in a step.
  std::vector<Worker> workers_;
  WorkerId last_ = 0;  // Whose vector came last.
  Time opened_{};
  double limit_ = 0;  // Of the open step; 0: it is not judged.
  uint64_t judged_ = 0;
};

}  // namespace motley
