// SPDX-License-Identifier: Apache-2.0
#include "api/observers.h"

#include <algorithm>

namespace motley {

void ObserverList::OnWorkerJoined(WorkerId worker, const std::string& name) {
  for (JobObserver* each : observers_) each->OnWorkerJoined(worker, name);
}

void ObserverList::OnWorkerLost(WorkerId worker, const Status& why) {
  for (JobObserver* each : observers_) each->OnWorkerLost(worker, why);
}

void ObserverList::OnStepOpened(StepId step, const CodeForm& code, Time now) {
  for (JobObserver* each : observers_) each->OnStepOpened(step, code, now);
}

void ObserverList::OnRowAssigned(StepId step, RowId row, WorkerId worker, Time now) {
  for (JobObserver* each : observers_) each->OnRowAssigned(step, row, worker, now);
}

void ObserverList::OnRowArrived(StepId step, RowId row, WorkerId worker, Time now) {
  for (JobObserver* each : observers_) each->OnRowArrived(step, row, worker, now);
}

void ObserverList::OnVectorArrived(StepId step, WorkerId worker,
                                   std::span<const PartitionId> partitions, Time now) {
  for (JobObserver* each : observers_) each->OnVectorArrived(step, worker, partitions, now);
}

void ObserverList::OnLeaseReleased(StepId step, WorkerId worker,
                                   std::span<const PartitionId> partitions, Time now) {
  for (JobObserver* each : observers_) each->OnLeaseReleased(step, worker, partitions, now);
}

void ObserverList::OnVectorRefused(StepId step, WorkerId worker, Time now) {
  for (JobObserver* each : observers_) each->OnVectorRefused(step, worker, now);
}

void ObserverList::OnStepApproximated(StepId step, const ApproximateSum& sum, Time now) {
  for (JobObserver* each : observers_) each->OnStepApproximated(step, sum, now);
}

void ObserverList::OnComputed(StepId step, WorkerId worker, uint64_t samples, Duration compute,
                              bool so_far, Time now) {
  for (JobObserver* each : observers_) {
    each->OnComputed(step, worker, samples, compute, so_far, now);
  }
}

void ObserverList::OnVectorReceived(StepId step, WorkerId worker, uint64_t bytes, Duration time,
                                    Time now) {
  for (JobObserver* each : observers_) each->OnVectorReceived(step, worker, bytes, time, now);
}

void ObserverList::OnRoundTrip(WorkerId worker, uint64_t bytes, Duration time, Time now) {
  for (JobObserver* each : observers_) each->OnRoundTrip(worker, bytes, time, now);
}

void ObserverList::OnStepDecoded(StepId step, const DecodedSum& sum,
                                 std::span<const float> parameters, Time now) {
  for (JobObserver* each : observers_) each->OnStepDecoded(step, sum, parameters, now);
}

void ObserverList::OnStepApplied(StepId step, std::span<const float> parameters, double batch_loss,
                                 Time now) {
  for (JobObserver* each : observers_) each->OnStepApplied(step, parameters, batch_loss, now);
}

void ObserverList::OnCheckpoint(uint64_t steps) {
  for (JobObserver* each : observers_) each->OnCheckpoint(steps);
}

void ObserverList::OnNotice(const std::string& text) {
  for (JobObserver* each : observers_) each->OnNotice(text);
}

void ObserverList::OnCommand(const Command& command, Time now) {
  for (JobObserver* each : observers_) each->OnCommand(command, now);
}

void FaultScript::OnStepOpened(StepId step, const CodeForm& /*code*/, Time /*now*/) {
  const auto due = std::stable_partition(faults_.begin(), faults_.end(),
                                         [&](const Fault& fault) { return fault.step != step; });
  const std::vector<Fault> now_due(due, faults_.end());
  faults_.erase(due, faults_.end());  // A restarted step does not strike again.
  for (const Fault& fault : now_due) strike_(fault);
}

}  // namespace motley
