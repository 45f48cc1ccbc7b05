// SPDX-License-Identifier: Apache-2.0
#include "sim/faults/random_fault.h"

#include <cmath>

namespace motley {
namespace {

constexpr uint64_t kMoreDraws = 44;

// The order is that of the first draws, so a new kind at the end leaves old seeds as they are.
constexpr const FaultKind* kKinds[] = {
    &kKillFault,  &kPauseFault, &kSlowFault, &kPartitionFault, &kNanFault,   &kGarbleFault,
    &kBreakFault, &kStallFault, &kCutFault,  &kBlackoutFault,  &kLeaveFault,
};

}  // namespace

std::span<const FaultKind* const> FaultKinds() { return kKinds; }

void DrawRandomFaults(Random& random, uint64_t seed, double job_seconds, RandomFaults& faults) {
  const auto scaled = [&random](double least, double most) {
    return least * std::pow(most / least, random.NextDouble());
  };
  // A value in half of the scenarios, 0 in the others.
  const auto sometimes = [&](double least, double most) {
    const bool on = random.Chance(0.5);
    const double value = scaled(least, most);
    return on ? value : 0;
  };
  const double job = job_seconds;
  faults.kill_every = sometimes(0.1 * job, 2 * job);
  faults.restart = sometimes(0.2, 1);
  faults.pause_every = sometimes(0.05 * job, job);
  faults.slow_every = sometimes(0.05 * job, job);
  faults.partition_every = sometimes(0.05 * job, job);
  faults.nan_every = sometimes(0.05 * job, job);
  faults.replay = sometimes(0.01, 0.3);
  faults.until_seconds = scaled(0.3 * job, 5 * job) + 0.02;
  // Devices break in a fifth of the scenarios, and slices are garbled in half of them. These draws
  // are their own, so that a new kind of fault leaves those of old seeds as they are.
  Random more(seed, Stream::kSimulation, kMoreDraws);
  if (more.Chance(0.2)) faults.break_every = job * std::pow(10.0, more.NextDouble() - 0.7);
  if (more.Chance(0.5)) faults.garble_every = job * std::pow(10.0, more.NextDouble() - 0.7);
}

}  // namespace motley
