// SPDX-License-Identifier: Apache-2.0
// Who is there: joined, free, busy, silent, lost; what each holds and how fast it is. Pure
// bookkeeping; says nothing about what to do.
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
  bool ready = false;     // Said that it is free at least once in this life.
  bool free = false;      // Has nothing to do.
  uint32_t queued = 0;    // Rows that it was given and has not ended.
  bool left_out = false;  // Long silent: not in the plan until it speaks again.
  Incarnation incarnation = 0;
  SpeedEstimator estimator;
  double speed_bound = 0;     // Silence proves it is not faster than this; 0: no such proof.
  std::vector<bool> holds;    // By partition.
  bool heard = false;         // Anything, since the step opened.
  uint32_t silent_steps = 0;  // Closed in a row without a word from it.
  size_t refused = 0;         // Answers of this life.
  StepId assigned_in = 0;     // The step of its last assignment.
  uint32_t to_send = 0;       // Partitions of its part of the plan, if others would be sent them.
  Time waiting_since{};       // The later of its last word and its last assignment.
  Duration patience{};        // How long silence after `waiting_since` is normal.
  WorkerStats stats;

  double speed() const;  // Samples per second; 0: not known.
  // For how long it has been silent while it had something to do.
  Duration Silence(Time now) const { return free ? Duration::zero() : now - waiting_since; }
  bool Overdue(Time now) const { return !free && now - waiting_since >= patience; }
};

class Membership {
 public:
  // Workers that ever joined or are expected have indices below size().
  Membership(uint32_t expected, uint32_t partitions);

  enum class Joined { kNew, kAgain, kDuplicate, kRefused };
  // kAgain: another life of a worker that was not known to be lost; its old work is void.
  Joined Join(WorkerId id, Incarnation incarnation, Time now);
  // What a live worker did and that it is free now.
  void Free(const WorkerFree& event, Time now);
  // `leaves`: it took its leave; its work is given to others all the same.
  void Lose(WorkerId id, bool leaves);
  // A word from a live worker.
  void Hear(WorkerId id, Time now);

  bool Live(WorkerId id) const { return id < workers_.size() && workers_[id].live; }
  Worker& operator[](WorkerId id) { return workers_[id]; }
  const Worker& operator[](WorkerId id) const { return workers_[id]; }
  WorkerId size() const { return static_cast<WorkerId>(workers_.size()); }

  uint32_t LiveCount() const;
  uint32_t ReadyCount() const;  // Live and ready.
  // Live, ready and not left out; everyone live and ready when that is nobody. In index order.
  std::vector<WorkerId> Candidates() const;
  // One per id, > 0: unknown ones get the median of the known, and claims that no work has shown
  // yet are bounded by it.
  std::vector<double> SpeedsOf(const std::vector<WorkerId>& ids) const;
  // Relative, of one measurement of each.
  std::vector<double> NoiseOf(const std::vector<WorkerId>& ids) const;

 private:
  uint32_t partitions_;
  std::vector<Worker> workers_;
};

}  // namespace motley
