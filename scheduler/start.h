// SPDX-License-Identifier: Apache-2.0
// How a job waits for workers: before its first step, and after all were lost. Pure; reports
// through JobState.
//
// A job begins when all workers are ready that may still come; with fewer, but the least, at the
// end of `start_timeout`, or `gather_time` after the least were ready. It waits once more when
// somebody joined and is not ready. After the loss of all it goes on with the first that come back,
// which wait a moment for the others: one worker alone would be sent all of the data.
#pragma once

#include <optional>
#include <vector>

#include "scheduler/job_state.h"
#include "scheduler/long_wait.h"

namespace motley {

// The end of a job: why, and the worker that failed last where that is part of it.
struct JobEnd {
  Status why;
  std::optional<LastWorker> last;
};

class Start {
 public:
  enum class Verdict : uint8_t { kWait, kBegin, kEnd };

  explicit Start(JobState& job);  // Which must outlive it.

  // Waits until then at most.
  void WaitFor(Duration limit);
  // Waits for a worker to come back, because the last one is gone.
  void WaitForReturn();
  // Looks whether the wait is over. kBegin: the next step is to be opened, which was reported.
  // kEnd: `end` says why the job cannot start or go on.
  Verdict Try(JobEnd& end);
  Time Due() const;  // When to try next, if nothing happens.

  void NotComing(WorkerId worker);
  void Comes(WorkerId worker);
  void Lost(LastWorker last) { last_lost_ = std::move(last); }
  void StepOpened();

 private:
  bool begun() const { return had_ > 0; }  // A step of this run was opened.
  bool NobodyMayCome() const;
  bool WaitsForMore();
  bool AllAreHere() const;
  bool OthersHadTime();
  JobEnd NobodyIsLeft(bool hopeless) const;
  Status TooFew() const;
  void Begin();
  void ReportWhoIsAwaited();

  JobState& job_;
  Time deadline_{};
  Duration limit_{};               // How long the wait until then is.
  Time gather_deadline_ = kNever;  // Then it starts with those that are ready, which are enough.
  bool extended_ = false;
  uint32_t had_ = 0;         // Workers that were ready when a step was last opened.
  bool all_lost_ = false;    // Since then.
  bool told_least_ = false;  // How many it begins with.
  Time gathered_ = kNever;   // After the loss of all, the step begins again without the rest.
  std::optional<LastWorker> last_lost_;
  std::vector<bool> not_coming_;  // By expected worker.
  LongWait wait_;
};

}  // namespace motley
