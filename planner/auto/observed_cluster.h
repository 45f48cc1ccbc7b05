// SPDX-License-Identifier: Apache-2.0
// Learns about a job's cluster from its events and commands. Besides speeds and round trips
// (scheduler/membership.h, lease_watch.h, vector_watch.h) the planner needs to know how often each
// worker is slow or lost, and how long sending data takes. A worker's time in a step is taken by
// its own clock or by the arrival of its answer. Pure bookkeeping.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "planner/auto/observed_rounds.h"
#include "planner/auto/observed_variation.h"
#include "planner/planned_cluster.h"
#include "scheduler/job_state.h"

namespace motley {

class ObservedCluster {
 public:
  explicit ObservedCluster(const SchedulerOptions& options);

  // Call these before the scheduler handles the event, and after it gave the command.
  void See(const Event& event, Time now, const JobState& job);
  void See(const Command& command, Time now, const JobState& job);

  // The workers of Membership::Candidates(), in that order. Precondition: there is at least one.
  PlannedCluster Cluster(const JobState& job) const;
  // True if half of these workers were measured as often as a plan needs.
  bool Known(const JobState& job) const;
  // Grows when a worker comes or goes, or becomes faster or slower for good, and when the vector
  // gets other owners.
  uint64_t changes() const { return changes_; }
  // Partitions sent since the last step opened, as a part of all partitions.
  double sent() const { return data_.placed / partitions_; }
  // Seconds for sending all partitions once, as far as observed.
  double DataSeconds() const { return data_.seconds; }
  // Reports the time of the last committed step if only its workers determined it.
  void Took(double seconds) { rounds_.Took(seconds); }
  // Reports that another scheme runs from now on.
  void Change() { rounds_.Change(); }

 private:
  // A worker in the open step.
  struct Seen {
    double speed = 0;   // Samples per second when the step opened.
    uint32_t rows = 0;  // Rows that were assigned and have not ended.
    bool placed = false;
    Time since{};         // When its first row or lease was given.
    double expected = 0;  // Expected seconds for computing all rows since then.
    double late = 0;      // Time of its answer as a multiple of `expected`; 0: unknown.
    bool leased = false;
    double samples = 0;  // Samples of its leases that are done.
    Duration compute{};  // Computing time of these samples.
  };

  void On(const WorkerJoined& event);
  void On(const OwnersPlaced& event);
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

  double samples_;     // Samples per step.
  double partitions_;  // Partitions that share these samples evenly.
  uint64_t steps_;
  std::vector<Seen> seen_;
  ObservedRounds rounds_;
  ObservedVariation variation_;
  std::shared_ptr<const CodeForm> code_;  // The code of the open step if it has rows.
  bool committed_ = false;                // The step that was opened last is committed.
  struct {
    double placed = 0;   // Partitions that were sent in this step.
    Time since{};        // When the first of them was sent.
    double seconds = 0;  // For sending all partitions once, as far as observed.
  } data_;
  uint64_t changes_ = 0;
  std::optional<OwnersPlaced> owners_;
  Time now_{};
  const JobState* job_ = nullptr;  // Only used during See.
};

}  // namespace motley
