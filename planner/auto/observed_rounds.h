// SPDX-License-Identifier: Apache-2.0
// Records how late each worker began in the last steps, and how fast it then was. The planner
// replays these rounds for every scheme. So delays that come together or in phases count as they
// came. Pure bookkeeping.
//
// Example: a worker reports 32 samples after 0.7 s and 64 after 0.8 s of its own clock. It began
// 0.6 s late and took 3.1 ms a sample. A worker without a report began when the step ended, or
// later.
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
  // Reports the time of the last committed step.
  void Took(double seconds);
  // Reports that another scheme runs from now on. Earlier step times then no longer count.
  void Change();

  // The last rounds, with these workers in this order. The more workers, the fewer rounds.
  std::vector<PlannedRound> Of(const std::vector<WorkerId>& workers) const;

 private:
  struct Worked {
    bool given = false;
    Time since{};
    double first_samples = 0, first_seconds = 0;  // Its first report in the step.
    double samples = 0, seconds = 0;              // Its last report in the step.
    double rows_samples = 0, rows_seconds = 0;    // Sums over the rows of its list that ended.
    double silent = 0;                            // Seconds until the step ended without a report.
  };
  struct Round {
    std::vector<Worked> workers;
    double seconds = 0;  // Its time; 0: another scheme ran, or something disturbed it.
  };

  void Give(WorkerId worker, Time now);
  void Report(WorkerId worker, double samples, Duration compute, bool row_ended);
  // Seconds per sample between its first and its last report. nullopt if they do not show it.
  static std::optional<double> Slope(const Worked& worked);
  std::vector<double> SecondsPerSample(const std::vector<WorkerId>& workers) const;
  static PlannedRound::Worker Summary(const Worked& worked, double usual);

  double samples_;
  Round open_;
  std::deque<Round> rounds_;
};

}  // namespace motley
