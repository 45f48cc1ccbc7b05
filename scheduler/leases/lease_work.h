// SPDX-License-Identifier: Apache-2.0
// The leases of the open step in the workers' hands: tells the step's policy what happened, carries
// out what it wants, learns from what workers report, and knows until when each worker's next
// message is due. Who is done without, LeaseEngine decides. Pure.
#pragma once

#include <memory>
#include <vector>

#include "scheduler/job_state.h"
#include "scheduler/learned/deadline.h"
#include "scheduler/learned/lease_watch.h"
#include "scheduler/leases/lease_learning.h"
#include "scheduler/leases/lease_plans.h"
#include "scheduler/step/adaptive_step.h"

namespace motley {

class LeaseWork {
 public:
  LeaseWork(JobState& job, LeasePlans& plans);  // Which must outlive it.

  // The step begins, or begins again, with those that are free and were not refused; with those
  // that rest only when there are no others.
  void Open();
  AdaptiveStep& policy() const { return *policy_; }

  // Workers that were ever seen have numbers below size().
  WorkerId size() const { return static_cast<WorkerId>(watches_.size()); }
  const LeaseWatch& operator[](WorkerId worker) const { return watches_[worker]; }
  LeaseWatch& Edit(WorkerId worker) { return watches_[worker]; }
  void MakeRoomFor(WorkerId worker);
  bool TakesPart(WorkerId worker) const;
  bool InStep(WorkerId worker, StepId step) const;

  // Each returns true when the step has enough.
  bool Tell(const StepEvent& event);
  // One that did not take part is there, with nothing leased to it; empty-handed: it holds nothing,
  // and is sent its part of what nobody has begun.
  bool Join(WorkerId worker, bool empty_handed);

  // Learn from a message of a worker that takes part, before the policy is told.
  void SawProgress(const LeaseProgress& event);
  // Returns false when it answered a ping, of which the policy knows nothing.
  bool SawReleased(WorkerId worker);
  void SawVector(WorkerId worker);
  void SawSlice() { last_slice_ = job_.now; }
  // A message of any worker, also of one that does not take part.
  void SawMessage() { last_message_ = job_.now; }

  // How long after its last message the next one is due.
  void SetPatience(WorkerId worker);
  // Asks for nothing but a message.
  void Ping(WorkerId worker);
  // Sends data that a lease needs.
  void Place(WorkerId worker, std::vector<PartitionId> partitions, DataWatch::Why why);

  Time TickDue() const;  // When the policy wants a tick.
  // When the worker has to be looked at: for its silence, or for a vector that does not come.
  Time Due(WorkerId worker) const;
  Time DeliveryDue(WorkerId worker) const;
  // What sending what it owes to another takes, where nobody else has that.
  Duration SendingOwed(WorkerId worker) const;
  // The earliest Due of anybody.
  Time silence_due() const { return silence_due_; }
  void SetSilenceDue(Time due) { silence_due_ = due; }
  Time answers_due() const { return answers_due_; }

 private:
  StepSetting Setting();
  bool CarryOut(std::vector<StepCommand>& commands);
  void Extend(ExtendList& command);
  Time MessageDue(WorkerId worker) const;

  JobState& job_;
  LeasePlans& plans_;
  DeadlineModel answers_;  // From a RevokeLease to its answer.
  std::vector<LeaseWatch> watches_;
  std::unique_ptr<AdaptiveStep> policy_;  // The last step that was opened.
  Time opened_{};
  Time told_{};               // The policy was told something.
  Time last_message_{};       // From anybody, in the step.
  Time last_slice_{};         // Any slice came, in the step.
  std::vector<bool> leased_;  // Partitions that were, in the step.
  Time silence_due_ = kNever;
  Time answers_due_{};  // By when everybody should have said something.
};

}  // namespace motley
