// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/planner_cases.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace motley {
namespace {

double LogUniform(Random& random, double from, double to) {
  return from * std::exp(std::log(to / from) * random.NextDouble());
}

double Wrong(Random& random, double figure) {
  return figure * (1 + kProfileError * (2 * random.NextDouble() - 1));
}

PlannedCluster Mismeasured(const PlannedCluster& truth, Random& random) {
  PlannedCluster profile = truth;
  for (PlannedWorker& worker : profile.workers) {
    worker.curve.seconds_per_sample = Wrong(random, worker.curve.seconds_per_sample);
    worker.curve.overhead_seconds = Wrong(random, worker.curve.overhead_seconds);
    worker.slow_probability = Wrong(random, worker.slow_probability);
    worker.slow_factor = std::max(1.0, Wrong(random, worker.slow_factor));
    worker.loss_probability = Wrong(random, worker.loss_probability);
    worker.latency_seconds = Wrong(random, worker.latency_seconds);
    worker.message_seconds = Wrong(random, worker.message_seconds);
    worker.send_seconds = Wrong(random, worker.send_seconds);
    worker.receive_seconds = Wrong(random, worker.receive_seconds);
    worker.jitter = Wrong(random, worker.jitter);
  }
  return profile;
}

}  // namespace

PlannerCase MakePlannerCase(uint64_t seed, uint64_t index) {
  Random random(seed, Stream::kSimulation, index);
  PlannerCase made;
  const auto n = static_cast<uint32_t>(std::lround(LogUniform(random, 4, 32)));
  made.spread = LogUniform(random, 1, 20);
  made.latency_seconds = LogUniform(random, 5e-5, 0.1);
  made.step_seconds = LogUniform(random, 5e-3, 5);
  made.gradient_bytes = LogUniform(random, 1e4, 1e9);
  const double server = LogUniform(random, 1.25e8, 1.25e10);  // 1 to 100 Gbit/s.
  const double own = server * LogUniform(random, 0.1, 1);
  made.message_seconds = made.gradient_bytes / server;
  made.truth.gradient_bytes = made.gradient_bytes;
  PlannedWorker worker;
  worker.jitter = LogUniform(random, 0.01, 0.1);
  worker.slow_probability = random.Chance(0.25) ? 0 : LogUniform(random, 1e-4, 0.05);
  worker.slow_factor = LogUniform(random, 1.5, 10);
  worker.loss_probability = random.Chance(0.25) ? 0 : LogUniform(random, 1e-6, 1e-3);
  worker.latency_seconds = made.latency_seconds;
  worker.message_seconds = made.message_seconds;
  worker.send_seconds = made.gradient_bytes / own - made.message_seconds;
  worker.receive_seconds = made.gradient_bytes / own;
  worker.curve.overhead_seconds = made.step_seconds * LogUniform(random, 1e-4, 1e-2);
  made.truth.samples = 8192;
  made.truth.notice_seconds = made.latency_seconds;
  made.truth.data_seconds = made.step_seconds * LogUniform(random, 0.1, 100);
  made.truth.remaining_steps = static_cast<uint64_t>(LogUniform(random, 1e3, 1e5));
  double rate = 0;
  for (uint32_t w = 0; w < n; ++w) {
    const double speed = LogUniform(random, 1, made.spread);
    rate += speed;
    worker.curve.seconds_per_sample = 1 / speed;
    made.truth.workers.push_back(worker);
  }
  for (PlannedWorker& each : made.truth.workers) {
    each.curve.seconds_per_sample *= made.step_seconds * rate / made.truth.samples;
  }
  made.profile = Mismeasured(made.truth, random);
  made.truth.doubt = 0;
  return made;
}

}  // namespace motley
