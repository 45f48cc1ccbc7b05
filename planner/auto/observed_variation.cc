// SPDX-License-Identifier: Apache-2.0
#include "planner/auto/observed_variation.h"

#include <algorithm>
#include <cmath>

namespace motley {
namespace {

constexpr double kSlowest = 20;  // Larger factors count as this one.
constexpr double kMemory = 500;  // Steps of a worker that count.

// Priors, and the number of a worker's steps that they are worth.
constexpr double kSlowBelief = 0.003, kSlowBeliefSteps = 100;
constexpr double kWorkerSteps = 50;  // The weight of all workers together in the estimate for one.
constexpr double kFactorBelief = 3, kFactorBeliefSteps = 1;
constexpr double kLossBelief = 1e-5, kLossBeliefSteps = 1e4;
constexpr double kOffBelief = 0.05, kOffBeliefSteps = 4;
// The weight of all workers together in the estimate for one.
constexpr double kWorkerMeasurements = 10;
constexpr double kMeanAbsolute = 0.8;  // Mean absolute value of a standard normal error.

}  // namespace

ObservedVariation::Steps& ObservedVariation::Of(WorkerId worker) {
  if (worker >= steps_.size()) steps_.resize(worker + 1);
  return steps_[worker];
}

void ObservedVariation::Count(WorkerId worker, double factor, bool settled) {
  Steps& steps = Of(worker);
  for (double* sum : {&steps.count, &steps.slow, &steps.factors}) *sum *= 1 - 1 / kMemory;
  steps.count += 1;
  if (factor < kSlow) {
    if (settled) {
      for (double* sum : {&steps.measured, &steps.off}) *sum *= 1 - 1 / kMemory;
      steps.measured += 1;
      steps.off += std::abs(factor - 1) / kMeanAbsolute;
    }
    steps.streak = steps.streak_factors = 0;
    return;
  }
  factor = std::min(factor, kSlowest);
  steps.slow += 1;
  steps.factors += factor;
  steps.streak += 1;
  steps.streak_factors += factor;
}

bool ObservedVariation::FollowChange(WorkerId worker, uint64_t restarts) {
  Steps& steps = Of(worker);
  if (restarts == steps.restarts) return false;
  steps.restarts = restarts;
  steps.slow = std::max(0.0, steps.slow - steps.streak);
  steps.factors = std::max(0.0, steps.factors - steps.streak_factors);
  steps.streak = steps.streak_factors = 0;
  return true;
}

// The estimate from all workers together, drawn towards a prior that is worth `worth` counts.
double ObservedVariation::Pooled(double belief, double worth, double Steps::*sum,
                                 double Steps::*count) const {
  double sums = belief * worth, counts = worth;
  for (const Steps& steps : steps_) {
    sums += steps.*sum;
    counts += steps.*count;
  }
  return sums / counts;
}

double ObservedVariation::SlowPart(WorkerId worker) const {
  const Steps steps = Known(worker);
  const double pooled = Pooled(kSlowBelief, kSlowBeliefSteps, &Steps::slow, &Steps::count);
  return (steps.slow + kWorkerSteps * pooled) / (steps.count + kWorkerSteps);
}

double ObservedVariation::SlowFactor() const {
  return Pooled(kFactorBelief, kFactorBeliefSteps, &Steps::factors, &Steps::slow);
}

double ObservedVariation::Jitter(WorkerId worker) const {
  const Steps steps = Known(worker);
  return (steps.off + kWorkerMeasurements * Jitter()) / (steps.measured + kWorkerMeasurements);
}

double ObservedVariation::Jitter() const {
  return Pooled(kOffBelief, kOffBeliefSteps, &Steps::off, &Steps::measured);
}

double ObservedVariation::LossPart() const {
  return (losses_ + kLossBelief * kLossBeliefSteps) / (worker_steps_ + kLossBeliefSteps);
}

}  // namespace motley
