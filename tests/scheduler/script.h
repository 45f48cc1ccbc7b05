// SPDX-License-Identifier: Apache-2.0
// Drives a scheduler event by event and shows its commands as lines of text:
//   open 0 | place 1 x6 | assign 1 step 0 row 1 | assign 1 step 0 row 1 waits |
//   assign 1 step 1 row 1 ahead | send 1 step 0 row 1 | cancel 1 step 0 | commit 0 | commit 0 as it
//   is | drop 1 | end <code>
// Notices are kept apart.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/scheduler.h"
#include "tests/scheduler/notices.h"
#include "tests/scheduler/tiny_decoder.h"

namespace motley {

class Script {
 public:
  // `limits` are those of its decoder.
  explicit Script(const SchedulerOptions& options, DecodeLimits limits = {});

  using Lines = std::vector<std::string>;

  // The clock starts at one hour, so that nothing relies on zero.
  void Advance(double seconds) { now_ += FromSeconds(seconds); }
  Time now() const { return now_; }
  double SecondsToDeadline() const { return ToSeconds(scheduler_->Deadline() - now_); }
  bool HasDeadline() const { return scheduler_->Deadline() != kNever; }

  // Before an event shows work of a worker, all data that were sent to it come.
  Lines Send(const Event& event);
  // All data that were sent to the worker come now.
  Lines DataCome(WorkerId worker);
  Lines Join(WorkerId worker, Incarnation incarnation = 1) {
    return Send(WorkerJoined{worker, incarnation});
  }
  // The worker's first message, after calibration.
  Lines Ready(WorkerId worker, double speed) {
    return Send(WorkerFree{worker, 0, Duration::zero(), speed});
  }
  Lines Free(WorkerId worker, uint64_t samples = 0, double seconds = 0) {
    return Send(WorkerFree{worker, samples, FromSeconds(seconds), 0});
  }
  Lines Progress(WorkerId worker, uint64_t samples = 1, double seconds = 1) {
    return Send(WorkerProgress{worker, samples, FromSeconds(seconds)});
  }
  Lines Lost(WorkerId worker) {
    return Send(WorkerLost{worker, Status::Unavailable("connection reset")});
  }
  // The answer to a row arrives. The decoder's events follow by themselves.
  Lines Arrive(WorkerId worker, RowId row);
  // The worker's answer to a row could leave.
  Lines Asks(WorkerId worker, RowId row) { return Send(RowReady{worker, step_, row}); }
  Lines Reject(WorkerId worker, RowId row, bool touched);
  Lines Applied() { return Send(StepApplied{step_}); }
  Lines TickNow() { return Send(Tick{}); }
  // Goes to the deadline and ticks; does nothing without a deadline.
  Lines TickAtDeadline();
  // Ticks at every deadline of the next `seconds`.
  Lines PassTime(double seconds);
  // All workers join and are ready, with these speeds.
  Lines Start(const std::vector<double>& speeds);
  // Every worker answers its assignments after the time given by its speed and becomes free, and
  // the step is applied. Returns the lines of the last event (the opening of the next step).
  Lines WholeStep(const std::vector<double>& speeds);

  StepId step() const { return step_; }
  const TinyDecoder& decoder() const { return decoder_; }
  SchedulerStats Stats() const { return scheduler_->Stats(); }
  const std::vector<Notice>& notices() const { return notices_; }  // All notices so far.
  const Status& end_status() const { return end_status_; }
  const std::optional<LastWorker>& end_last() const { return end_last_; }

 private:
  Lines Show(const std::vector<Command>& commands);

  SchedulerOptions options_;
  TinyDecoder decoder_;
  std::unique_ptr<Scheduler> scheduler_;
  Time now_ = Time(std::chrono::hours(1));
  StepId step_ = 0;
  std::vector<AssignRow> assigned_;                      // In this step.
  std::map<WorkerId, std::vector<PartitionId>> coming_;  // Data on their way.
  std::vector<Notice> notices_;
  Status end_status_;
  std::optional<LastWorker> end_last_;
};

}  // namespace motley
