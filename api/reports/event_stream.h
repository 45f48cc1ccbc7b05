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
#include "runtime/job_event.h"

namespace motley {

// Loop thread.
class EventStream final : public JobObserver {
 public:
  using Sink = std::function<void(const motley_event&)>;

  // Events count their time from `start` on. `clock` (may be null) tells it where an observer's
  // call does not; without one it is the last time that was reported.
  EventStream(Sink sink, const Loop* clock);

  void OnEvent(const JobEvent& event) override;

  // Losses are reported in units of this: see PreparedData::loss_unit.
  void SetLossUnit(double unit) { loss_unit_ = unit; }
  // The last ReductionJson of this job. It is empty as long as the job has said nothing.
  const std::string& reduction() const { return reduction_; }
  // An event with a text alone.
  void Tell(int32_t kind, const std::string& text);

 private:
  void On(const event::WorkerJoined& happened);
  void On(const event::WorkerLost& happened);
  void On(const event::StepOpened& happened);
  void On(const event::RowAssigned& happened);
  void On(const event::RowArrived& happened);
  void On(const event::VectorArrived& happened);
  void On(const event::StepApproximated& happened);
  void On(const event::StepDecoded& happened);
  void On(const event::StepApplied& happened);
  void On(const event::VersionJudged& happened);
  void On(const event::CheckpointSafe& happened);
  void On(const event::Noticed& happened);
  void On(const event::AuditWarned& happened);
  void On(const event::CommandGiven& happened);

  void Send(motley_event event, Time now);
  Time Now() const { return clock_ != nullptr ? clock_->Now() : last_; }

  Sink sink_;
  const Loop* clock_;
  Time last_{};
  Time start_{};  // Behind what Now() reads.
  double loss_unit_ = 1;
  double error_ = 0;  // The error of the next sum to be reported.
  std::string reduction_;
  std::map<WorkerId, std::string> names_;
  std::set<WorkerId> leasing_;  // Leased to in this step, since their last vector.
};

}  // namespace motley
