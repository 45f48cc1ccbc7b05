// SPDX-License-Identifier: Apache-2.0
#include "sim/faults/liars.h"

#include <algorithm>

#include "base/random.h"

namespace motley {

void AddLiar(SimOptions& options, double step_seconds) {
  constexpr uint64_t kLieDraws = 61;  // Its own stream of the simulation's draws.
  Random random(options.seed, Stream::kSimulation, kLieDraws);
  if (!random.Chance(0.125) || options.trainer != SimTrainer::kBuiltIn) return;
  if (options.job.wire != WireFormat::kFloat32) return;
  options.power_cuts = PowerCuts();
  options.job.checkpoint = CheckpointOptions();
  options.job.audit_fraction = 1;
  options.job.audit_time = 0;
  if (random.Chance(0.5)) {
    options.audit_samples_per_second = options.job.batch * 20 / step_seconds;
  }
  Fault fault;
  fault.kind = Fault::Kind::kLie;
  fault.worker = static_cast<WorkerId>(random.Below(options.job.workers));
  fault.step = random.Below(options.job.steps);
  fault.factor = random.Chance(0.5) ? -0.5 : 0;
  options.faults.push_back(fault);
}

bool SomebodyLies(const SimOptions& options) {
  return std::any_of(options.faults.begin(), options.faults.end(),
                     [](const Fault& fault) { return fault.kind == Fault::Kind::kLie; });
}

}  // namespace motley
