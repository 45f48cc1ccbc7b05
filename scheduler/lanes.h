// SPDX-License-Identifier: Apache-2.0
// The lanes of a job: each works off one update after the other. There is one lane, or one for each
// worker if each worker has updates of its own. Bookkeeping; JobScheduler decides.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "scheduler/job_state.h"
#include "scheduler/step_engine.h"
#include "scheduler/update_state.h"

namespace motley {

struct Lane {
  UpdateState update;
  std::unique_ptr<StepEngine> engine;
};

class Lanes {
 public:
  explicit Lanes(JobState& job);  // `job` must outlive it.
  Lanes(const Lanes&) = delete;   // Engines refer to the updates beside them.

  auto begin() { return lanes_.begin(); }
  auto end() { return lanes_.end(); }
  auto begin() const { return lanes_.begin(); }
  auto end() const { return lanes_.end(); }
  Lane& operator[](size_t index) { return lanes_[index]; }
  size_t IndexOf(const Lane& lane) const { return static_cast<size_t>(&lane - lanes_.data()); }

  // Makes engines for the scheme of the job's options.
  void MakeEngines();

  // The lane whose update was begun under this name; null if there is none.
  Lane* Of(StepId update);
  bool AnyOpen() const;
  // No update waits for answers, or is about to be applied.
  bool Idle() const;
  // The earliest time at which an open update needs a Tick.
  Time Due() const;
  // Until then silence of all workers is normal.
  Time AnswersDue() const;

 private:
  JobState& job_;
  std::vector<Lane> lanes_;
};

}  // namespace motley
