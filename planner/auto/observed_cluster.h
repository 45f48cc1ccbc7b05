// SPDX-License-Identifier: Apache-2.0
// What a job has learned of its cluster, from the events and commands that pass: what the planner
// needs to know beyond speeds and round trips (scheduler/membership.h, lease_watch.h,
// vector_watch.h) is how often who is slow or lost, and what sending data takes. Pure bookkeeping.
//
// A worker is slow in a step when what it did took more than twice as long as its speed makes one
// expect, by its own clock or by when its answer came. How often that happens is estimated from few
// steps of many workers: each is drawn towards what they all show, and all towards a belief. So is
// how much a worker's speed varies otherwise.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "planner/auto/observed_rounds.h"
#include "planner/planned_cluster.h"
#include "scheduler/job_state.h"

namespace motley {

class ObservedCluster {
 public:
  explicit ObservedCluster(const SchedulerOptions& options);

  // Before the scheduler handles the event; after it gave the command.
  void See(const Event& event, Time now, const JobState& job);
  void See(const Command& command, Time now, const JobState& job);

  // Those of Membership::Candidates(), in that order. At least one must be there.
  PlannedCluster Cluster(const JobState& job) const;
  // All of them were measured as often as a plan needs.
  bool Known(const JobState& job) const;
  // Grows whenever somebody comes or goes, or has become faster or slower for good.
  uint64_t changes() const { return changes_; }
  // Of all partitions, the part that was sent to somebody in the step that was opened last.
  double sent() const { return placed_ / partitions_; }
  // That sending all of them once takes, as far as was seen.
  double DataSeconds() const { return data_seconds_; }
  // The step that was committed last took so long, undisturbed by anything but its workers.
  void Took(double seconds) { rounds_.Took(seconds); }
  // Another scheme runs from now on.
  void Change() { rounds_.Change(); }
  // Of the steps that it worked in, the part in which a worker was slow, as estimated.
  double SlowPart(WorkerId worker) const;

 private:
  struct Seen {
    // In the open step.
    double speed = 0;   // Samples per second, when it opened.
    uint32_t rows = 0;  // Assigned, and not ended.
    bool placed = false;
    Time since{};         // Its first row was assigned, or its first lease given.
    double expected = 0;  // Seconds of computing all rows since.
    double late = 0;      // How many times as long as expected its answer took; 0: not seen.
    bool leased = false;
    double samples = 0;  // Of its leases that are done,
    Duration compute{};  // in so much time.
    // Over steps.
    double steps = 0, slow = 0, factors = 0;
    double measured = 0, off = 0;           // How far from what was expected, when it was not slow.
    double streak = 0, streak_factors = 0;  // Slow ones in a row, up to now.
    uint64_t restarts = 0;                  // Of its speed's estimate.
  };

  void On(const WorkerJoined& event);
  void On(const WorkerFree& event);
  void On(const WorkerLost& event);
  void On(const RowArrived& event);
  void On(const LeaseProgress& event);
  void On(const OpenStep& command);
  void On(const OpenLeases& command);
  void On(const PlacePartitions& command);
  void On(const AssignRow& command);
  void On(const ExtendLease& command);
  void On(const CancelWork& command);
  void On(const CommitStep& command);
  void On(const DropWorker& command);

  Seen& Of(WorkerId worker);
  void Gone(WorkerId worker);
  void Opened();
  void SawData(const Seen& seen);
  void Count(WorkerId worker, double factor);
  void FollowChange(WorkerId worker);
  double Pooled(double belief, double worth, double Seen::*sum, double Seen::*count) const;
  double PooledSlow() const;
  double PooledFactor() const;
  double PooledOff() const;

  double samples_;     // Of a step;
  double partitions_;  // of which each partition has its part.
  uint64_t steps_;
  std::vector<Seen> seen_;
  ObservedRounds rounds_;
  std::shared_ptr<const CodeForm> code_;  // Of the open step, if it has rows.
  bool leasing_ = false;
  bool committed_ = false;  // The step that was opened last.
  double placed_ = 0;       // Partitions, in this step,
  Time placing_{};          // since then.
  double data_seconds_ = 0;
  double losses_ = 0, worker_steps_ = 0;
  uint64_t changes_ = 0;
  Time now_{};
  const JobState* job_ = nullptr;  // During See.
};

}  // namespace motley
