// SPDX-License-Identifier: Apache-2.0
// The leases of the open step in the workers' hands: reports events to the step's policy, carries
// out its commands, learns from the workers' reports, and knows when each worker's next message is
// due. LeaseEngine decides which workers to do without. Pure.
#pragma once

#include <memory>
#include <vector>

#include "scheduler/job_state.h"
#include "scheduler/learned/deadline.h"
#include "scheduler/learned/lease_watch.h"
#include "scheduler/leases/lease_learning.h"
#include "scheduler/leases/lease_plans.h"
#include "scheduler/step/adaptive_step.h"
#include "scheduler/update_state.h"

namespace motley {

class LeaseWork {
 public:
  // The arguments must outlive it. `update` is the one whose work it gives out.
  LeaseWork(JobState& job, const UpdateState& update, LeasePlans& plans);

  // The step begins, or begins again, with the free workers that were not refused. Resting workers
  // take part only if there are no others.
  void Open();
  AdaptiveStep& policy() const { return *policy_; }

  // Workers that were ever seen have numbers below size().
  WorkerId size() const { return static_cast<WorkerId>(watches_.size()); }
  const LeaseWatch& operator[](WorkerId worker) const { return watches_[worker]; }
  LeaseWatch& Edit(WorkerId worker) { return watches_[worker]; }
  void MakeRoomFor(WorkerId worker);
  bool TakesPart(WorkerId worker) const;
  bool InStep(WorkerId worker, StepId step) const;

  // The following calls return true when the step has enough.
  bool Tell(const StepEvent& event);
  // A worker that did not take part is there, without leases. `empty_handed`: it holds nothing, and
  // is sent its part of the partitions that nobody has begun.
  bool Join(WorkerId worker, bool empty_handed);

  // The following calls learn from a message of a worker that takes part, before the policy handles
  // it.
  void SawProgress(const LeaseProgress& event);
  // Returns false for the answer to a ping, which the policy does not know.
  bool SawReleased(WorkerId worker);
  void SawVector(WorkerId worker);
  void SawSlice() { last_.slice = job_.now; }
  // Any worker sent a message, even one that does not take part.
  void SawMessage() { last_.message = job_.now; }

  // Sets how long after its last message the next one is due.
  void SetPatience(WorkerId worker);
  // Asks for nothing but a message.
  void Ping(WorkerId worker);
  // Sends data that a lease needs.
  void Place(WorkerId worker, std::vector<PartitionId> partitions, Transfers::Why why);

  Time TickDue() const;  // When the policy wants a tick.
  // When the worker has to be checked, for its silence or for a vector that does not come.
  Time Due(WorkerId worker) const;
  Time DeliveryDue(WorkerId worker) const;
  // The time to send another worker the partitions that this one owes, if nobody else holds them.
  Duration SendingOwed(WorkerId worker) const;
  // The earliest Due of all workers.
  Time silence_due() const { return silence_due_; }
  void SetSilenceDue(Time due) { silence_due_ = due; }
  Time answers_due() const { return answers_due_; }

 private:
  StepSetting Setting();
  bool CarryOut(std::vector<StepCommand>& commands);
  void Extend(ExtendList& command);
  Time MessageDue(WorkerId worker) const;

  JobState& job_;
  const UpdateState& update_;
  LeasePlans& plans_;
  DeadlineModel answers_;  // From a RevokeLease to its answer.
  std::vector<LeaseWatch> watches_;
  std::unique_ptr<AdaptiveStep> policy_;  // The last step that was opened.
  Time opened_{};
  struct {
    Time event{};             // The policy got an event.
    Time message{};           // Any worker sent a message in the step.
    Time slice{};             // A slice of any vector came in the step.
  } last_;                    // When each last happened.
  std::vector<bool> leased_;  // By partition: it was leased in the step.
  Time silence_due_ = kNever;
  Time answers_due_{};  // By then every worker should have sent a message.
};

}  // namespace motley
