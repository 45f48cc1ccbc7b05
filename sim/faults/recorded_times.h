// SPDX-License-Identifier: Apache-2.0
// Times that were recorded, in the place of those that profiles model: what workers take from the
// opening of each step on.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/job_event.h"
#include "runtime/run_trace.h"
#include "sim/faults/fault_driver.h"

namespace motley {

class RecordedTimes {
 public:
  virtual ~RecordedTimes() = default;
  virtual uint64_t steps() const = 0;  // > 0; after the last one, the first comes again.
  virtual uint32_t workers() const = 0;
  // What a worker's first so many samples of a step take; null: nothing was recorded of it.
  virtual std::function<double(double samples)> Compute(uint64_t step, WorkerId worker) const = 0;
  // How fast its vector came; 0: not known.
  virtual double BytesPerSecond(uint64_t step, WorkerId worker) const = 0;
  // What so many samples take the slowest worker in its slowest step.
  virtual double LongestSeconds(double samples) const = 0;
};

// Those of a run: every sample takes the mean of what the worker's samples took in that step, so
// that a step which is cut as it was when it was recorded takes as long, to the nanosecond of each
// piece. Overheads are inside: smaller parts are replayed as cheaper than they were.
class RunTimes final : public RecordedTimes {
 public:
  explicit RunTimes(RunTrace trace) : trace_(std::move(trace)) {}

  uint64_t steps() const override { return trace_.steps; }
  uint32_t workers() const override { return trace_.workers; }
  std::function<double(double samples)> Compute(uint64_t step, WorkerId worker) const override;
  double BytesPerSecond(uint64_t step, WorkerId worker) const override;
  double LongestSeconds(double samples) const override;

 private:
  RunTrace trace_;
};

// What one worker can do in a step: the time that a device's first so many samples take, which
// never falls, or, where that is null, how many samples it computes in a second at the most.
struct StepSpeed {
  std::function<double(double samples)> compute;
  double samples_per_second = 0;
  double devices = 1;   // That compute side by side.
  double hastened = 1;  // So many times as fast, by faults with factors below 1.
};

// Seconds in which no scheme can compute every one of `samples` samples: those of one that knows
// beforehand what each worker takes in this step, divides the samples perfectly, computes none
// twice, and whose messages, sums and update take no time. Rounded down by 0.1 % at most.
// `guess` > 0 shortens the search, it changes nothing else.
double IdealSeconds(const std::vector<StepSpeed>& workers, double samples, double guess);

// Sets simulated workers to the times of each step when it opens. Work of a step before that is
// still under way keeps its time.
class ReplayDriver final : public JobObserver {
 public:
  // Everything is borrowed. The job's first step has the times of step options.replay_from of
  // options.replay; a step has `samples(step)` samples.
  ReplayDriver(const SimOptions& options, const FaultDriver::Workers& workers,
               std::function<double(StepId)> samples);

  void OnEvent(const JobEvent& event) override;

  // IdealSeconds of each step that was opened, from the first one on.
  const std::vector<double>& ideal_seconds() const { return ideal_; }

 private:
  void On(const event::StepOpened& event);

  const SimOptions& options_;
  const FaultDriver::Workers& workers_;
  const std::function<double(StepId)> samples_;
  std::vector<StepSpeed> speeds_;  // By worker, of the step that is open.
  std::vector<double> ideal_;
  std::optional<StepId> open_;
};

}  // namespace motley
