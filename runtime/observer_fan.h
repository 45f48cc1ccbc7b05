// SPDX-License-Identifier: Apache-2.0
// Passes what happens in a job on to several observers, in their order. It knows their types, so
// that an observer with nothing to do at an event costs nothing at it: a simulated job has ten.
// Every event of JobObserver must be here; tests/runtime/observer_fan_test.cc looks.
#pragma once

#include <string>
#include <tuple>

#include "runtime/job.h"

namespace motley {

template <typename... Observers>
class ObserverFan final : public JobObserver {
 public:
  // Borrowed; null is left out. Until then nobody is told.
  void Tell(Observers*... observers) { observers_ = {observers...}; }

  void OnWorkerJoined(WorkerId worker, const std::string& name) override {
    ForEach([&](auto& each) { each.OnWorkerJoined(worker, name); });
  }
  void OnWorkerLost(WorkerId worker, const Status& why) override {
    ForEach([&](auto& each) { each.OnWorkerLost(worker, why); });
  }
  void OnStepOpened(StepId step, const CodeForm& form, Time now) override {
    ForEach([&](auto& each) { each.OnStepOpened(step, form, now); });
  }
  void OnRowAssigned(StepId step, RowId row, WorkerId worker, Time now) override {
    ForEach([&](auto& each) { each.OnRowAssigned(step, row, worker, now); });
  }
  void OnRowArrived(StepId step, RowId row, WorkerId worker, Time now) override {
    ForEach([&](auto& each) { each.OnRowArrived(step, row, worker, now); });
  }
  void OnVectorArrived(StepId step, WorkerId worker, std::span<const PartitionId> partitions,
                       Time now) override {
    ForEach([&](auto& each) { each.OnVectorArrived(step, worker, partitions, now); });
  }
  void OnLeaseReleased(StepId step, WorkerId worker, std::span<const PartitionId> partitions,
                       Time now) override {
    ForEach([&](auto& each) { each.OnLeaseReleased(step, worker, partitions, now); });
  }
  void OnVectorRefused(StepId step, WorkerId worker, Time now) override {
    ForEach([&](auto& each) { each.OnVectorRefused(step, worker, now); });
  }
  void OnStepApproximated(StepId step, const ApproximateSum& sum, Time now) override {
    ForEach([&](auto& each) { each.OnStepApproximated(step, sum, now); });
  }
  void OnComputed(StepId step, WorkerId worker, uint64_t samples, Duration compute, bool so_far,
                  Time now) override {
    ForEach([&](auto& each) { each.OnComputed(step, worker, samples, compute, so_far, now); });
  }
  void OnVectorReceived(StepId step, WorkerId worker, uint64_t bytes, Duration time,
                        Time now) override {
    ForEach([&](auto& each) { each.OnVectorReceived(step, worker, bytes, time, now); });
  }
  void OnRoundTrip(WorkerId worker, uint64_t bytes, Duration time, Time now) override {
    ForEach([&](auto& each) { each.OnRoundTrip(worker, bytes, time, now); });
  }
  void OnLinkMeasured(WorkerId worker, uint64_t bytes, Duration time, Time now) override {
    ForEach([&](auto& each) { each.OnLinkMeasured(worker, bytes, time, now); });
  }
  void OnStepDecoded(StepId step, const DecodedSum& sum, std::span<const float> parameters,
                     Time now) override {
    ForEach([&](auto& each) { each.OnStepDecoded(step, sum, parameters, now); });
  }
  void OnStepApplied(StepId step, std::span<const float> parameters, double batch_loss,
                     Time now) override {
    ForEach([&](auto& each) { each.OnStepApplied(step, parameters, batch_loss, now); });
  }
  void OnRate(StepId step, double rate) override {
    ForEach([&](auto& each) { each.OnRate(step, rate); });
  }
  void OnJudged(const JudgedVersion& judged) override {
    ForEach([&](auto& each) { each.OnJudged(judged); });
  }
  void OnCheckpoint(uint64_t steps) override {
    ForEach([&](auto& each) { each.OnCheckpoint(steps); });
  }
  void OnNotice(const std::string& text) override {
    ForEach([&](auto& each) { each.OnNotice(text); });
  }
  void OnSchedulerNotice(const Notice& notice) override {
    ForEach([&](auto& each) { each.OnSchedulerNotice(notice); });
  }
  void OnAuditWarning(const AuditWarning& warning) override {
    ForEach([&](auto& each) { each.OnAuditWarning(warning); });
  }
  void OnCommand(const Command& command, Time now) override {
    ForEach([&](auto& each) { each.OnCommand(command, now); });
  }

 private:
  template <typename Call>
  void ForEach(Call call) {
    std::apply([&](auto*... each) { ((each != nullptr ? call(*each) : void()), ...); }, observers_);
  }

  std::tuple<Observers*...> observers_;
};

}  // namespace motley
