// SPDX-License-Identifier: Apache-2.0
// A worker is 2 to 10 times slower, for 0.1 to 5 s.
#include "sim/faults/random_fault.h"

namespace motley {
namespace {

class SlowFault final : public RandomFault {
 public:
  using RandomFault::RandomFault;

  void Strike() override {
    const auto worker = targets_.Pick();
    if (!worker) return;
    WorkerProcess* process = &targets_[*worker];
    const double factor = 2 + 8 * targets_.random().NextDouble();
    const Duration duration = targets_.DrawDuration(0.1, 5);
    process->devices().SetRandomSlowness(factor);
    targets_.world().After(duration, [process] { process->devices().SetRandomSlowness(1); });
  }
};

}  // namespace

const FaultKind kSlowFault = {"slow", &RandomFaults::slow_every, MakeFault<SlowFault>, nullptr};

}  // namespace motley
