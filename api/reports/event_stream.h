// SPDX-License-Identifier: Apache-2.0
// What happens in a job, as events of the C API.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/loop/loop.h"
#include "motley/job.h"
#include "runtime/job.h"

namespace motley {

// Loop thread.
class EventStream final : public JobObserver {
 public:
  using Sink = std::function<void(const motley_event&)>;

  // Events count their time from `start` on. `clock` (may be null) tells it where an observer's
  // call does not; without one it is the last time that was told.
  EventStream(Sink sink, const Loop* clock);

  void OnWorkerJoined(WorkerId worker, const std::string& name) override;
  void OnWorkerLost(WorkerId worker, const Status& why) override;
  void OnStepOpened(StepId step, const CodeForm& code, Time now) override;
  void OnRowAssigned(StepId step, RowId row, WorkerId worker, Time now) override;
  void OnRowArrived(StepId step, RowId row, WorkerId worker, Time now) override;
  void OnVectorArrived(StepId step, WorkerId worker, std::span<const PartitionId> partitions,
                       Time now) override;
  void OnStepApproximated(StepId step, const ApproximateSum& sum, Time now) override;
  void OnStepDecoded(StepId step, const DecodedSum& sum, std::span<const float> parameters,
                     Time now) override;
  void OnStepApplied(StepId step, std::span<const float> parameters, double batch_loss,
                     Time now) override;
  void OnJudged(const JudgedVersion& judged) override;
  void OnCheckpoint(uint64_t steps) override;
  void OnNotice(const std::string& text) override;
  void OnSchedulerNotice(const Notice& notice) override;
  void OnAuditWarning(const AuditWarning& warning) override;
  void OnCommand(const Command& command, Time now) override;

  // Losses are told in units of so much: see PreparedData::loss_unit.
  void SetLossUnit(double unit) { loss_unit_ = unit; }
  // An event with a text alone.
  void Tell(int32_t kind, const std::string& text);

 private:
  void Send(motley_event event, Time now);
  Time Now() const { return clock_ != nullptr ? clock_->Now() : last_; }

  Sink sink_;
  const Loop* clock_;
  Time last_{};
  Time start_{};  // Behind what Now() reads.
  double loss_unit_ = 1;
  double error_ = 0;  // Of the sum that is told next.
  std::map<WorkerId, std::string> names_;
  std::set<WorkerId> leasing_;  // Leased to in this step, since their last vector.
};

}  // namespace motley
