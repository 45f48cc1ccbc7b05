// SPDX-License-Identifier: Apache-2.0
// What all policies that work step by step have in common: how they wait for workers, who is there,
// what becomes of refused answers, and how a job ends. What a step is, the policy says.
#pragma once

#include <optional>
#include <vector>

#include "scheduler/learned/data_watch.h"
#include "scheduler/learned/deadline.h"
#include "scheduler/learned/lease_watch.h"
#include "scheduler/learned/vector_watch.h"
#include "scheduler/long_wait.h"
#include "scheduler/membership.h"
#include "scheduler/scheduler.h"

namespace motley {

// kInvalidArgument for options that no such policy can serve, with what to change.
Status CheckBulkOptions(const SchedulerOptions& options);

class BulkSynchronous : public Scheduler {
 public:
  void OnEvent(const Event& event, Time now, std::vector<Command>& out) final;
  Time Deadline() const final;

  // Between a CommitStep and its StepApplied, before any event: goes on where `before` is, with its
  // workers, what they hold and what was learned of them. Nothing of that is left in `before`.
  void GoOnFrom(BulkSynchronous& before);
  // A step is committed, and StepApplied not here yet: another policy may go on from it.
  bool BetweenSteps() const { return phase_ == Phase::kCommitting; }

  // What was learned so far.
  const SchedulerOptions& options() const { return options_; }
  const Membership& members() const { return members_; }
  const std::vector<LeaseHabits>& habits() const { return habits_; }  // By worker; may be shorter.
  const VectorWatch& link() const { return link_; }
  StepId step() const { return step_; }  // Open, or to be opened next.
  // In the open step: what messages of all take shows what data take.
  bool DataInTheWay() const { return data_in_the_way_; }
  // The same of one worker's.
  bool WaitsForData(WorkerId worker) const {
    return data_in_the_way_ || data_.OnTheirWay(worker) > 0;
  }
  // Copies that are wanted are not all there: it does not show yet what they are worth.
  virtual bool WaitsForCopies() const { return false; }

 protected:
  enum class Phase {
    kStarting,    // Waits for workers.
    kRunning,     // A step is open.
    kCommitting,  // It has enough; waits for StepApplied.
    kEnded
  };

  explicit BulkSynchronous(SchedulerOptions options);  // Sane ones.

  // --- What a policy adds. ---
  virtual bool PlanAnew() = 0;  // Before every step. False: ended, because nothing serves.
  virtual void OpenStepNow() = 0;
  virtual void GiveWork(WorkerId worker) = 0;    // It is free while a step is open.
  virtual void VoidWork(WorkerId worker) = 0;    // It is gone, and what it held is.
  virtual void ReplaceAbsent() = 0;              // Of the open step, after that.
  virtual void CancelAll() = 0;                  // Of the open step, which begins again.
  virtual void OnOther(const Event& event) = 0;  // What is not handled here.
  virtual void TickInStep() = 0;
  virtual void Spoke(WorkerId /*worker*/) {}         // It said something that is handled here.
  virtual void Ended(const WorkerFree& /*work*/) {}  // Before it counts as free.
  virtual void WentOn() {}                           // From another policy; members hold data.
  virtual double AnswerPart() const { return 1; }    // Of a vector, how long a row's answer is.
  // What sending its part of the data to others takes, as far as that is known: before it is left
  // out for its silence, it is waited for as long.
  virtual Duration SendingForAnother(WorkerId /*worker*/) const { return {}; }
  virtual Time StepDue() const = 0;  // When TickInStep is wanted; silence of all apart.
  // Until when silence of everybody is normal.
  virtual Time AnswersDue() const = 0;

  void Hear(WorkerId worker);
  void TakeBack(WorkerId worker);
  void CountRefused(WorkerId worker);
  // An answer of the open step that cannot be used, after it was taken from the books.
  void Refuse(const RowRejected& event);
  void Restart();  // The step, from its beginning.
  bool RejectedInStep(WorkerId worker) const;
  // Whether nobody else can be counted on but those whose answers were refused in this step.
  bool OnlyRejectedAreLeft() const;
  void Commit(bool approximately = false);
  void Cancel(WorkerId worker);
  void SendData(WorkerId worker, std::vector<PartitionId> partitions, DataWatch::Why why);
  void End(Status status, std::optional<LastWorker> last = {});
  void Say(Notice notice);
  void SayOf(const Compromise& compromise);
  template <typename T>
  void Do(T command) {
    out_->emplace_back(std::move(command));
  }

  SchedulerOptions options_;
  Membership members_;
  std::vector<LeaseHabits> habits_;  // By worker, as far as leases showed them.
  VectorWatch link_;
  DataWatch data_;
  DeadlineModel deadlines_;  // From an assignment, or a report, to the next word of a worker.
  Phase phase_ = Phase::kStarting;
  Time now_{};
  StepId step_ = 0;        // Open, or to be opened next.
  bool plan_void_ = true;  // Membership changed since the plan was made.
  SchedulerStats totals_;  // Without the workers.

 private:
  void Void(WorkerId worker);

  void On(const WorkerJoined& event);
  void On(const WorkerFree& event);
  void On(const WorkerProgress& event);
  void On(const WorkerLost& event);
  void On(const WorkerNotComing& event);
  void On(const StepApplied& event);
  void On(const Tick& event);
  void On(const LinkMeasured&) {}  // link_ looks at it.

  // The start (bulk_start.cc).
  void WaitForWorkers(Duration limit);
  void WaitForReturn();  // The last worker is gone.
  bool NobodyMayCome() const;
  bool WaitsForMore();  // Of those who are coming back, for a moment.
  void TryStart();
  bool AllAreHere() const;  // Of those that may still come.
  bool OthersHadTime();     // Of those beyond the least.
  Status TooFew() const;    // Why the job ends instead of starting.
  void Begin();
  void SayWhoIsAwaited();

  void NextStep();
  void Open();
  void LeaveOutTheSilent();
  Time SilenceDue() const;  // When silence of all is worth telling.
  void SayThatAllAreSilent();
  void SayThatStepIsLong();
  bool Diverged(const RowRejected& event);
  void AfterRejection(const RowRejected& event);

  bool started_clock_ = false;
  Time start_deadline_{};
  Duration start_limit_{};         // How long the wait until then is.
  Time gather_deadline_ = kNever;  // Then it starts with those that are ready, which are enough.
  bool start_extended_ = false;
  bool begun_ = false;       // A step of this run was opened.
  uint32_t had_ = 0;         // Workers that were ready when a step was last opened.
  bool all_lost_ = false;    // Since then.
  bool told_least_ = false;  // How many it begins with.
  Time gathered_ = kNever;   // After the loss of all, the step begins again without the rest.
  std::optional<LastWorker> last_lost_;
  std::vector<bool> not_coming_;  // Of the expected, by index.
  LongWait wait_;                 // For workers, or inside a step for a word from any.
  RobustWindow step_seconds_;     // Of the last steps.
  Time step_since_{};             // The open step's beginning, the first one.
  Time long_step_due_ = kNever;
  bool data_in_the_way_ = false;
  std::vector<WorkerId> rejected_;       // Senders of refused answers in this step, each time.
  std::vector<Command>* out_ = nullptr;  // Of the event being handled.
};

}  // namespace motley
