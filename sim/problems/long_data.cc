// SPDX-License-Identifier: Apache-2.0
#include "sim/problems/long_data.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/random.h"
#include "coding/gradient_code.h"

namespace motley {
namespace {

constexpr uint64_t kLongDataDraws = 52;  // Its own stream of the simulation's draws.

double Scaled(Random& random, double least, double most) {
  return least * std::pow(most / least, random.NextDouble());
}

// Removes all faults but restarts and repeated frames. ScriptReturns then adds kills.
void LeaveOnlyKills(SimOptions& options) {
  const RandomFaults& all = options.random_faults;
  options.random_faults = {.restart = all.restart, .replay = all.replay};
  options.faults.clear();
  options.replay = nullptr;
  options.server_bytes_per_second = 0;
}

// Uses leases with copies, so that other workers can go on meanwhile.
void Lease(JobOptions& job) {
  const Scheme& scheme = SchemeNamed(job.code);
  if (!scheme.exact || scheme.chosen_later() || scheme.has_parts) return;
  job.code = "adaptive";
  job.tolerate = std::clamp(job.tolerate, 1u, job.workers - 1);
}

// Kills mostly one worker again and again, sometimes before its data can have arrived.
void ScriptReturns(SimOptions& options, Random& random, double data_steps) {
  const auto victim = static_cast<WorkerId>(random.Below(options.job.workers));
  auto step = static_cast<double>(2 + random.Below(5));
  while (step < static_cast<double>(options.job.steps)) {
    const auto other = static_cast<WorkerId>(random.Below(options.job.workers));
    Fault fault;
    fault.kind = Fault::Kind::kKill;
    fault.worker = random.Chance(0.8) ? victim : other;
    fault.step = static_cast<StepId>(step);
    options.faults.push_back(fault);
    step += 4 + Scaled(random, 0.3, 3) * data_steps;
  }
}

// Converts bytes sent to bytes of samples: blocks also have headers.
double SamplesWorth(double sent_bytes, const Dataset& data, uint32_t workers) {
  const auto partitions = PartitionCount(data.rows(), workers);
  if (!partitions.ok()) return 0;
  const double none = static_cast<double>(BlockBytes(0, data.features, data.sparse, 0));
  const auto samples = static_cast<double>(data.size_bytes());
  return sent_bytes * samples / (samples + none * *partitions);
}

}  // namespace

void LengthenData(SimOptions& options, const Dataset& data, UsualStep step) {
  Random random(options.seed, Stream::kSimulation, kLongDataDraws);
  RandomFaults& faults = options.random_faults;
  const bool sent = options.trainer != SimTrainer::kSquaresOwnData;
  const bool come_back = faults.kill_every > 0 && faults.restart > 0 && options.job.workers > 1;
  if (!random.Chance(0.125) || !sent || !come_back) return;
  const double steps = Scaled(random, 2, 20);
  const double drawn_rate = Scaled(random, 1e6, 1e8);
  double rate = std::numeric_limits<double>::infinity();
  for (WorkerProfile& worker : options.cluster.workers) {
    if (worker.link.bytes_per_second == 0) worker.link.bytes_per_second = drawn_rate;
    rate = std::min(rate, worker.link.bytes_per_second);
  }
  const double server = options.server_rates().out;
  if (server > 0) rate = std::min(rate, server);
  const double parts = static_cast<double>(options.job.workers) / step.copies;
  const double sent_bytes = steps * step.seconds * rate * std::max(1.0, parts);
  options.data_bytes = std::max(static_cast<double>(data.size_bytes()),
                                SamplesWorth(sent_bytes, data, options.job.workers));
  // A linear model gets no further steps: its gradients would be little but rounding by then.
  if (options.job.model.name != "linear") {
    options.job.steps += static_cast<uint64_t>(std::ceil(20 + 5 * steps));
  }
  faults.restart = 1;
  if (random.Chance(0.5)) {
    LeaveOnlyKills(options);
    Lease(options.job);
  }
  ScriptReturns(options, random, steps);
}

}  // namespace motley
