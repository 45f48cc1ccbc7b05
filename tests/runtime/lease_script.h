// SPDX-License-Identifier: Apache-2.0
// A scheduler that works with leases and makes random decisions. It gives and revokes leases,
// flushes vectors, restarts steps and benches workers far more often than a sensible scheduler, to
// test what must hold for all decisions.
#pragma once

#include <deque>
#include <vector>

#include "base/random.h"
#include "scheduler/scheduler.h"

namespace motley {

class LeaseScript final : public Scheduler {
 public:
  struct Tale {        // The effects of the random decisions.
    int revoked = 0;   // RevokeLease commands.
    int released = 0;  // Partitions that came back.
    int vectors = 0;
    int rejected = 0;
    int restarts = 0;
    int fenced = 0;
  };
  // `tale` is borrowed.
  LeaseScript(uint32_t workers, uint32_t partitions, uint64_t steps, uint64_t seed, Tale& tale);

  void OnEvent(const Event& event, Time now, std::vector<Command>& out) override;
  Time Deadline() const override { return tick_; }
  SchedulerStats Stats() const override { return stats_; }

 private:
  struct Worker {
    bool ready = false;    // The worker joined and introduced itself.
    bool benched = false;  // The worker takes no part in this step.
    std::vector<bool> holds;
    std::vector<PartitionId> list;
    size_t spent = 0;
    size_t done = 0;
    std::deque<std::vector<PartitionId>> asks;
    Time heard{};
  };

  void On(const WorkerJoined& event);
  void On(const WorkerFree& event);
  void On(const WorkerLost& event);
  void On(const RowRejected& event);
  void On(const StepApplied& event);
  void On(const Tick&);
  void On(const LeaseProgress& event);
  void On(const LeaseReleased& event);
  void On(const LeaseVector& event);
  template <typename Other>
  void On(const Other&) {}

  bool InStep(WorkerId worker) const { return workers_[worker].ready && !workers_[worker].benched; }
  void OpenStep();
  void Give();  // Gives free partitions to any workers.
  void Extend(WorkerId worker, std::vector<PartitionId> partitions);
  void AskBack(WorkerId worker);
  void Void(WorkerId worker);  // The worker's leases without a vector become free.
  void Bench(WorkerId worker);

  Random random_;
  uint64_t steps_;
  Tale& tale_;
  std::vector<Worker> workers_;
  std::vector<PartitionId> free_;
  std::vector<bool> covered_;
  size_t missing_ = 0;
  StepId step_ = 0;
  bool open_ = false;
  bool restarted_ = false;  // This step was restarted.
  Time now_{};
  Time tick_{};
  SchedulerStats stats_;
  std::vector<Command>* out_ = nullptr;
};

}  // namespace motley
