// SPDX-License-Identifier: Apache-2.0
// One JobObserver that tells several, in the order they were added.
#pragma once

#include <string>
#include <vector>

#include "runtime/job.h"

namespace motley {

class ObserverFan final : public JobObserver {
 public:
  // Borrowed; null is left out.
  void Add(JobObserver* observer) {
    if (observer != nullptr) observers_.push_back(observer);
  }

  void OnWorkerJoined(WorkerId worker, const std::string& name) override {
    for (JobObserver* each : observers_) each->OnWorkerJoined(worker, name);
  }
  void OnWorkerLost(WorkerId worker, const Status& why) override {
    for (JobObserver* each : observers_) each->OnWorkerLost(worker, why);
  }
  void OnStepOpened(StepId step, const CodeForm& form, Time now) override {
    for (JobObserver* each : observers_) each->OnStepOpened(step, form, now);
  }
  void OnRowAssigned(StepId step, RowId row, WorkerId worker, Time now) override {
    for (JobObserver* each : observers_) each->OnRowAssigned(step, row, worker, now);
  }
  void OnRowArrived(StepId step, RowId row, WorkerId worker, Time now) override {
    for (JobObserver* each : observers_) each->OnRowArrived(step, row, worker, now);
  }
  void OnVectorArrived(StepId step, WorkerId worker, std::span<const PartitionId> partitions,
                       Time now) override {
    for (JobObserver* each : observers_) each->OnVectorArrived(step, worker, partitions, now);
  }
  void OnLeaseReleased(StepId step, WorkerId worker, std::span<const PartitionId> partitions,
                       Time now) override {
    for (JobObserver* each : observers_) each->OnLeaseReleased(step, worker, partitions, now);
  }
  void OnVectorRefused(StepId step, WorkerId worker, Time now) override {
    for (JobObserver* each : observers_) each->OnVectorRefused(step, worker, now);
  }
  void OnStepApproximated(StepId step, const ApproximateSum& sum, Time now) override {
    for (JobObserver* each : observers_) each->OnStepApproximated(step, sum, now);
  }
  void OnComputed(StepId step, WorkerId worker, uint64_t samples, Duration compute, bool so_far,
                  Time now) override {
    for (JobObserver* each : observers_)
      each->OnComputed(step, worker, samples, compute, so_far, now);
  }
  void OnVectorReceived(StepId step, WorkerId worker, uint64_t bytes, Duration time,
                        Time now) override {
    for (JobObserver* each : observers_) each->OnVectorReceived(step, worker, bytes, time, now);
  }
  void OnRoundTrip(WorkerId worker, uint64_t bytes, Duration time, Time now) override {
    for (JobObserver* each : observers_) each->OnRoundTrip(worker, bytes, time, now);
  }
  void OnLinkMeasured(WorkerId worker, uint64_t bytes, Duration time, Time now) override {
    for (JobObserver* each : observers_) each->OnLinkMeasured(worker, bytes, time, now);
  }
  void OnStepDecoded(StepId step, std::span<const float> gradient,
                     std::span<const float> parameters, Time now) override {
    for (JobObserver* each : observers_) each->OnStepDecoded(step, gradient, parameters, now);
  }
  void OnStepApplied(StepId step, std::span<const float> parameters, double batch_loss,
                     Time now) override {
    for (JobObserver* each : observers_) each->OnStepApplied(step, parameters, batch_loss, now);
  }
  void OnCheckpoint(uint64_t steps) override {
    for (JobObserver* each : observers_) each->OnCheckpoint(steps);
  }
  void OnNotice(const std::string& text) override {
    for (JobObserver* each : observers_) each->OnNotice(text);
  }
  void OnCommand(const Command& command, Time now) override {
    for (JobObserver* each : observers_) each->OnCommand(command, now);
  }

 private:
  std::vector<JobObserver*> observers_;
};

}  // namespace motley
