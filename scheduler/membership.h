// SPDX-License-Identifier: Apache-2.0
// The workers that are there: joined, free, busy, silent or lost, what each holds and how fast it
// is. Pure bookkeeping; it decides nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "profiles/speed_estimator.h"
#include "scheduler/scheduler.h"

namespace motley {

struct Worker {
  bool live = false;      // Joined and not lost.
  bool ready = false;     // Free at least once in this incarnation.
  bool free = false;      // Has nothing to do.
  uint32_t queued = 0;    // Rows that it was given and has not finished.
  bool left_out = false;  // Silent for long: not in the plan until its next message.
  Incarnation incarnation = 0;
  SpeedEstimator estimator;
  double speed_bound = 0;     // Its silence proves that it is not faster than this; 0: no proof.
  std::vector<bool> holds;    // By partition.
  bool heard = false;         // A message came since the step opened.
  uint32_t silent_steps = 0;  // Steps in a row that closed without a message from it.
  size_t refused = 0;         // Refused answers of this incarnation.
  StepId assigned_in = 0;     // The step of its last assignment.
  uint32_t to_send = 0;  // Partitions of its part of the plan that others would have to be sent.
  Time waiting_since{};  // The later of its last message and its last assignment.
  Duration patience{};   // How long silence after `waiting_since` is normal.
  WorkerStats stats;

  double speed() const;  // Samples per second; 0: not known.
  // The length of its silence while it had something to do.
  Duration Silence(Time now) const { return free ? Duration::zero() : now - waiting_since; }
  bool Overdue(Time now) const { return !free && now - waiting_since >= patience; }
};

class Membership {
 public:
  // Workers that ever joined or are expected have indices below size().
  Membership(uint32_t expected, uint32_t partitions);

  enum class Joined { kNew, kAgain, kDuplicate, kRefused };
  // kAgain: a new incarnation of a worker whose loss was not known; its old work is void.
  Joined Join(WorkerId id, Incarnation incarnation, Time now);
  // A live worker is free now and reports its work.
  void Free(const WorkerFree& event, Time now);
  // `leaves`: it left by itself. Its work is given to others all the same.
  void Lose(WorkerId id, bool leaves);
  // A message came from a live worker.
  void Hear(WorkerId id, Time now);

  bool Live(WorkerId id) const { return id < workers_.size() && workers_[id].live; }
  Worker& operator[](WorkerId id) { return workers_[id]; }
  const Worker& operator[](WorkerId id) const { return workers_[id]; }
  WorkerId size() const { return static_cast<WorkerId>(workers_.size()); }

  uint32_t LiveCount() const;
  uint32_t ReadyCount() const;  // Live and ready.
  // Workers that are live, ready and not left out, in index order. If there are none, all that are
  // live and ready.
  std::vector<WorkerId> Candidates() const;
  // One speed per id, > 0. Unknown speeds get the median of the known ones, which also limits
  // claims that no work has confirmed yet.
  std::vector<double> SpeedsOf(const std::vector<WorkerId>& ids) const;
  // The relative noise of one speed measurement, per id.
  std::vector<double> NoiseOf(const std::vector<WorkerId>& ids) const;

 private:
  uint32_t partitions_;
  std::vector<Worker> workers_;
};

}  // namespace motley
