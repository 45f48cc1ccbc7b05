// SPDX-License-Identifier: Apache-2.0
// How a job waits for workers: before its first step, and after all workers were lost. Pure; it
// reports through JobState.
//
// A job begins when all workers that may still come are ready. It begins with fewer, but at least
// `least_workers`, at the end of `start_timeout`, or `gather_time` after that many were ready. It
// waits once more when a worker joined and is not ready. After the loss of all workers the job goes
// on with the first that come back. These wait a moment for the others, because one worker alone
// would be sent all of the data.
#pragma once

#include <optional>
#include <vector>

#include "scheduler/job_state.h"
#include "scheduler/long_wait.h"

namespace motley {

// The end of a job: the reason, and the worker that failed last where it is part of the reason.
struct JobEnd {
  Status why;
  std::optional<LastWorker> last;
};

class Start {
 public:
  enum class Verdict : uint8_t { kWait, kBegin, kEnd };

  explicit Start(JobState& job);  // `job` must outlive it.

  // Waits at most this long.
  void WaitFor(Duration limit);
  // The last worker is gone: waits for a worker to come back.
  void WaitForReturn();
  // Checks if the wait is over. kBegin: the caller opens the next step; the start was reported.
  // kEnd: `end` says why the job cannot start or go on.
  Verdict Try(JobEnd& end);
  Time Due() const;  // The time of the next Try if nothing happens.

  void NotComing(WorkerId worker);
  void Comes(WorkerId worker);
  void Lost(LastWorker last) { last_lost_ = std::move(last); }
  void StepOpened();

 private:
  bool begun() const { return had_ > 0; }  // True once a step of this run was opened.
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
  Duration limit_{};  // Length of the wait until deadline_.
  // The job then starts with the workers that are ready, which are enough.
  Time gather_deadline_ = kNever;
  bool extended_ = false;
  uint32_t had_ = 0;         // Workers that were ready when the last step was opened.
  bool all_lost_ = false;    // All workers were lost since the last step was opened.
  bool told_least_ = false;  // The user knows how many workers it begins with.
  // After the loss of all, the step begins again at this time without the rest.
  Time gathered_ = kNever;
  std::optional<LastWorker> last_lost_;
  std::vector<bool> not_coming_;  // By expected worker.
  LongWait wait_;
};

}  // namespace motley
