// SPDX-License-Identifier: Apache-2.0
// Learns how often each worker is slow, how its speed varies otherwise, and how often workers are
// lost. Pure bookkeeping.
//
// A worker is slow in a step if its work takes more than twice as long as its speed predicts. There
// are few steps and many workers. So the estimate of how often a worker is slow is drawn towards
// the mean of all workers, and this mean towards a prior. The same holds for the other variation of
// a worker's speed.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"

namespace motley {

class ObservedVariation {
 public:
  // A worker is slow in a step in which it takes this many times as long as expected.
  static constexpr double kSlow = 2;

  // The worker took `factor` times as long in a step as its speed predicts. Unless the estimate of
  // its speed has `settled`, the speed itself may be wrong.
  void Count(WorkerId worker, double factor, bool settled);
  // The estimate of the worker's speed has been restarted so often. Returns true if that is new: a
  // run of slow steps turned out to be a new speed.
  bool FollowChange(WorkerId worker, uint64_t restarts);
  void CountLoss() { losses_ += 1; }
  void CountSteps(double workers) { worker_steps_ += workers; }  // So many did a step.

  // The estimated part of its steps in which the worker is slow, and how slow workers are then.
  double SlowPart(WorkerId worker) const;
  double SlowFactor() const;
  // The relative error of the worker's speed in steps that are not slow, and of any worker's.
  double Jitter(WorkerId worker) const;
  double Jitter() const;
  double LossPart() const;  // The part of all steps of workers that end with the worker's loss.

 private:
  struct Steps {
    double count = 0, slow = 0, factors = 0;
    double measured = 0, off = 0;           // Relative errors of speeds in steps that are not slow.
    double streak = 0, streak_factors = 0;  // The current run of slow steps.
    uint64_t restarts = 0;                  // Restarts of its speed's estimate.
  };
  Steps& Of(WorkerId worker);
  Steps Known(WorkerId worker) const { return worker < steps_.size() ? steps_[worker] : Steps(); }
  double Pooled(double belief, double worth, double Steps::*sum, double Steps::*count) const;

  std::vector<Steps> steps_;  // By worker.
  double losses_ = 0, worker_steps_ = 0;
};

}  // namespace motley
