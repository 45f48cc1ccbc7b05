// SPDX-License-Identifier: Apache-2.0
// Several observers of one job, told in order.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/fault_plan.h"
#include "runtime/job.h"

namespace motley {

// The observers are borrowed.
class ObserverList final : public JobObserver {
 public:
  void Add(JobObserver* observer) { observers_.push_back(observer); }

  void OnWorkerJoined(WorkerId worker, const std::string& name) override;
  void OnWorkerLost(WorkerId worker, const Status& why) override;
  void OnStepOpened(StepId step, const CodeForm& code, Time now) override;
  void OnRowAssigned(StepId step, RowId row, WorkerId worker, Time now) override;
  void OnRowArrived(StepId step, RowId row, WorkerId worker, Time now) override;
  void OnVectorArrived(StepId step, WorkerId worker, std::span<const PartitionId> partitions,
                       Time now) override;
  void OnLeaseReleased(StepId step, WorkerId worker, std::span<const PartitionId> partitions,
                       Time now) override;
  void OnVectorRefused(StepId step, WorkerId worker, Time now) override;
  void OnStepApproximated(StepId step, const ApproximateSum& sum, Time now) override;
  void OnComputed(StepId step, WorkerId worker, uint64_t samples, Duration compute, bool so_far,
                  Time now) override;
  void OnVectorReceived(StepId step, WorkerId worker, uint64_t bytes, Duration time,
                        Time now) override;
  void OnRoundTrip(WorkerId worker, uint64_t bytes, Duration time, Time now) override;
  void OnStepDecoded(StepId step, const DecodedSum& sum, std::span<const float> parameters,
                     Time now) override;
  void OnStepApplied(StepId step, std::span<const float> parameters, double batch_loss,
                     Time now) override;
  void OnCheckpoint(uint64_t steps) override;
  void OnNotice(const std::string& text) override;
  void OnCommand(const Command& command, Time now) override;

 private:
  std::vector<JobObserver*> observers_;
};

// Strikes each scripted fault once, when its step opens for the first time.
class FaultScript final : public JobObserver {
 public:
  using Strike = std::function<void(const Fault&)>;
  FaultScript(std::vector<Fault> faults, Strike strike)
      : faults_(std::move(faults)), strike_(std::move(strike)) {}

  void OnStepOpened(StepId step, const CodeForm& code, Time now) override;

 private:
  std::vector<Fault> faults_;
  Strike strike_;
};

}  // namespace motley
