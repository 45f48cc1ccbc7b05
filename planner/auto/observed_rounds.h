// SPDX-License-Identifier: Apache-2.0
// What each worker did in the last steps: how late it began, and how fast it was then. The planner
// replays these rounds for every scheme, so delays that come together, or in phases, count as they
// came. Pure bookkeeping.
//
// Example: a worker reports 32 samples after 0.7 s and 64 after 0.8 s of its own clock. It began
// 0.6 s late and took 3.1 ms a sample. A worker that said nothing until the step ended began when
// the step ended, at the earliest.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/time.h"
#include "planner/planned_cluster.h"
#include "scheduler/scheduler.h"

namespace motley {

class ObservedRounds {
 public:
  // A partition has `samples` samples.
  explicit ObservedRounds(double samples) : samples_(samples) {}

  void See(const Event& event);
  void See(const Command& command, Time now);
  // The step that was committed last took so long.
  void Took(double seconds);
  // Another scheme runs from now on: what steps took before says nothing of it.
  void Change();

  // The last ones, of these workers in this order: fewer of many workers.
  std::vector<PlannedRound> Of(const std::vector<WorkerId>& workers) const;

 private:
  struct Worked {
    bool given = false;
    Time since{};
    double first_samples = 0, first_seconds = 0;  // Its first report of the step,
    double samples = 0, seconds = 0;              // and its last one.
    double rows_samples = 0, rows_seconds = 0;    // Of rows that ended, of a list of them.
    double silent = 0;                            // Seconds until the step ended without a report.
  };
  struct Round {
    std::vector<Worked> workers;
    double seconds = 0;  // It took; 0: what runs now did not run, or something disturbed it.
  };

  void Give(WorkerId worker, Time now);
  void Report(WorkerId worker, double samples, Duration compute, bool row_ended);
  // Seconds per sample between its first report and its last one; nothing: they do not tell.
  static std::optional<double> Slope(const Worked& worked);
  std::vector<double> SecondsPerSample(const std::vector<WorkerId>& workers) const;
  static PlannedRound::Worker Summary(const Worked& worked, double usual);

  double samples_;
  Round open_;
  std::deque<Round> rounds_;
};

}  // namespace motley
