// SPDX-License-Identifier: Apache-2.0
// Recorded times of workers, per step, that replace the times that profiles model.
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
  virtual uint64_t steps() const = 0;  // > 0; after the last step, the first comes again.
  virtual uint32_t workers() const = 0;
  // Returns a function from a number of samples to the seconds of the worker's first samples in the
  // step. Null if nothing was recorded.
  virtual std::function<double(double samples)> Compute(uint64_t step, WorkerId worker) const = 0;
  // The rate at which the worker's vector arrived; 0: unknown.
  virtual double BytesPerSecond(uint64_t step, WorkerId worker) const = 0;
  // The seconds of `samples` samples on the slowest worker in its slowest step.
  virtual double LongestSeconds(double samples) const = 0;
};

// Times of a recorded run. Every sample takes the mean of the worker's samples in that step. A step
// that is divided as in the recording takes as long as it did, to the nanosecond of each piece. The
// mean includes overheads, so smaller pieces are replayed as cheaper than they were.
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

// The speed of one worker in a step. `compute` gives the time of a device's first samples and never
// falls. If it is null, the device computes at most `samples_per_second`. The link has no limit if
// `compute` is not linear, since then it contains the time of messages.
struct StepSpeed {
  std::function<double(double samples)> compute;
  double samples_per_second = 0;
  double devices = 1;                       // Devices that compute side by side.
  double hastened = 1;                      // Speed-up by faults with factors below 1.
  double latency_seconds = 0;               // Sum of both ways.
  double up_seconds = 0, down_seconds = 0;  // A vector on the worker's link.
};

// The bound of profiles/ideal_step.h, rounded down by 0.1 % at most: the time of an ideal scheme
// that knows the speed of each worker in this step beforehand. `guess` > 0 only shortens the
// search.
double IdealSeconds(const std::vector<StepSpeed>& workers, double samples, double guess);

// Sets simulated workers to the recorded times of each step when it opens. Work of an earlier step
// that is still running keeps its time.
class ReplayDriver final : public JobObserver {
 public:
  // `options` and `workers` are borrowed. The job's first step has the times of step
  // options.replay_from of options.replay. A step has `samples(step)` samples, and vectors have
  // `vector_bytes`.
  ReplayDriver(const SimOptions& options, const FaultDriver::Workers& workers,
               std::function<double(StepId)> samples, double vector_bytes);

  void OnEvent(const JobEvent& event) override;

  // IdealSeconds of each step that was opened, in order.
  const std::vector<double>& ideal_seconds() const { return ideal_; }

 private:
  void On(const event::StepOpened& event);

  const SimOptions& options_;
  const FaultDriver::Workers& workers_;
  const std::function<double(StepId)> samples_;
  const double vector_bytes_;
  std::vector<StepSpeed> speeds_;  // By worker, in the open step.
  std::vector<double> ideal_;
  std::optional<StepId> open_;
};

}  // namespace motley
