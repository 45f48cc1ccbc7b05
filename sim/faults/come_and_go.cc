// SPDX-License-Identifier: Apache-2.0
#include "sim/faults/come_and_go.h"

#include <algorithm>

#include "base/random.h"
#include "sim/faults/liars.h"
#include "sim/faults/random_fault.h"

namespace motley {

void LetComeAndGo(SimOptions& options, double job_seconds) {
  constexpr uint64_t kComeDraws = 62;  // Its own stream of the simulation's draws.
  Random random(options.seed, Stream::kSimulation, kComeDraws);
  const uint32_t workers = options.job.workers;
  const bool wanted = random.Chance(0.17) && options.data_bytes == 0 && !SomebodyLies(options);
  if (!wanted || workers < 2) return;
  RandomFaults& faults = options.random_faults;
  const double latest = std::min(faults.until_seconds, job_seconds);
  const auto early = static_cast<uint32_t>(1 + random.Below(workers - 1));
  options.start_seconds.assign(workers, 0);
  for (uint32_t w = early; w < workers; ++w) {
    options.start_seconds[w] = latest * random.NextDouble();
  }
  const double gather = 0.1 * job_seconds * random.NextDouble();
  options.job.gather_time = FromSeconds(random.Chance(0.5) ? gather : 0);
  if (random.Chance(0.5)) faults.leave_every = job_seconds * (0.1 + random.NextDouble());
  // The job may require workers for its start only if none of them can be gone for good by then.
  const bool some_go = std::ranges::any_of(FaultKinds(), [&](const FaultKind* kind) {
    return kind->takes_workers && faults.*kind->every > 0;
  });
  if (!some_go && options.faults.empty()) options.job.least_workers = early;
}

}  // namespace motley
