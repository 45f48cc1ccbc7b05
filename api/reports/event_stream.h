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
  // call does not; without one it is the last time that was told.
  EventStream(Sink sink, const Loop* clock);

  void OnEvent(const JobEvent& event) override;

  // Losses are told in units of so much: see PreparedData::loss_unit.
  void SetLossUnit(double unit) { loss_unit_ = unit; }
  // An event with a text alone.
  void Tell(int32_t kind, const std::string& text);

 private:
  void On(const event::WorkerJoined& told);
  void On(const event::WorkerLost& told);
  void On(const event::StepOpened& told);
  void On(const event::RowAssigned& told);
  void On(const event::RowArrived& told);
  void On(const event::VectorArrived& told);
  void On(const event::StepApproximated& told);
  void On(const event::StepDecoded& told);
  void On(const event::StepApplied& told);
  void On(const event::VersionJudged& told);
  void On(const event::CheckpointSafe& told);
  void On(const event::Noticed& told);
  void On(const event::AuditWarned& told);
  void On(const event::CommandGiven& told);

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
