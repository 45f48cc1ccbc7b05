// SPDX-License-Identifier: Apache-2.0
// Times that were recorded, in the place of those that profiles model: what workers take from the
// opening of each step on.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/run_trace.h"
#include "sim/fault_driver.h"

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

// Sets simulated workers to the times of each step when it opens. Work of a step before that is
// still under way keeps its time.
class ReplayDriver final : public JobObserver {
 public:
  // `workers` is borrowed. The job's first step has the times of step `from`.
  ReplayDriver(std::shared_ptr<const RecordedTimes> times, uint64_t from,
               const FaultDriver::Workers& workers)
      : times_(std::move(times)), from_(from), workers_(workers) {}

  void OnStepOpened(StepId step, const CodeForm& code, Time now) override;

 private:
  const std::shared_ptr<const RecordedTimes> times_;
  const uint64_t from_;
  const FaultDriver::Workers& workers_;
};

}  // namespace motley
