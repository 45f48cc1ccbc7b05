// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/planner/planner_cases.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

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

namespace {

// Phases in which some workers are slow together.
class Phases {
 public:
  Phases(Random& random, size_t workers)
      : every_(random.Chance(0.25) ? 0 : LogUniform(random, 15, 80)),
        part_(LogUniform(random, 0.1, 0.5)),
        factor_(LogUniform(random, 1.5, 6)),
        slow_(workers, false) {}

  void Step(Random& random) {
    if (left_ > 0 && --left_ > 0) return;
    std::fill(slow_.begin(), slow_.end(), false);
    if (every_ == 0 || !random.Chance(1 / every_)) return;
    left_ = 8 + static_cast<uint32_t>(random.Below(18));
    for (size_t w = 0; w < slow_.size(); ++w) slow_[w] = random.Chance(part_);
    slow_[random.Below(slow_.size())] = true;
  }
  double Of(WorkerId worker) const { return left_ > 0 && slow_[worker] ? factor_ : 1; }

 private:
  const double every_, part_, factor_;
  std::vector<bool> slow_;
  uint32_t left_ = 0;  // Steps left.
};

struct Trouble {
  double pause_probability = 0, pause_seconds = 0;
};

std::vector<Fault> TransientFaults(const PlannerCase& made, const Trouble& trouble, Random& random,
                                   uint32_t steps) {
  std::vector<Fault> faults;
  const size_t n = made.truth.workers.size();
  Phases phases(random, n);
  std::vector<double> slowed(n, 1);
  // A worker that died is back within a second, and has no other fault until then.
  const auto away = static_cast<StepId>(2 + 1.5 / made.step_seconds);
  std::vector<StepId> back(n, 0);
  for (StepId step = 1; step < steps; ++step) {
    phases.Step(random);
    for (WorkerId w = 0; w < n; ++w) {
      const PlannedWorker& worker = made.truth.workers[w];
      const bool dies = random.Chance(worker.loss_probability) && step >= back[w];
      const bool slow = random.Chance(worker.slow_probability);
      const bool pauses = random.Chance(trouble.pause_probability);
      const double length = random.Exponential(1);
      if (step < back[w]) continue;
      if (dies) back[w] = step + away;
      if (dies) faults.push_back({.kind = Fault::Kind::kKill, .worker = w, .step = step});
      const double now = dies ? 1 : phases.Of(w) * (slow ? worker.slow_factor : 1);
      const double before = std::exchange(slowed[w], now);
      if (before != now) {
        faults.push_back(
            {.kind = Fault::Kind::kSlow, .worker = w, .step = step, .factor = now / before});
      }
      if (!pauses || dies) continue;
      faults.push_back({.kind = Fault::Kind::kPause,
                        .worker = w,
                        .step = step,
                        .duration = FromSeconds(trouble.pause_seconds * length)});
    }
  }
  return faults;
}

}  // namespace

PlannerCase MakeTransientCase(uint64_t seed, uint64_t index, uint32_t steps) {
  Random random(seed, Stream::kSimulation, index, 1);
  PlannerCase made;
  made.whole_job = true;
  const auto n = static_cast<uint32_t>(std::lround(LogUniform(random, 4, 32)));
  made.spread = LogUniform(random, 1, 6);
  made.latency_seconds = LogUniform(random, 5e-5, 2e-3);
  made.step_seconds = LogUniform(random, 0.02, 2);
  made.gradient_bytes = LogUniform(random, 1e5, 1e8);
  made.truth.gradient_bytes = made.gradient_bytes;
  made.message_seconds = made.step_seconds * LogUniform(random, 1e-3, 0.1) / n;
  const double own = made.message_seconds / LogUniform(random, 0.3, 1);
  PlannedWorker worker;
  worker.jitter = LogUniform(random, 0.01, 0.1);
  worker.slow_probability = random.Chance(0.25) ? 0 : LogUniform(random, 1e-3, 0.05);
  worker.slow_factor = LogUniform(random, 1.5, 10);
  worker.loss_probability = random.Chance(0.5) ? 0 : LogUniform(random, 1e-5, 1e-3);
  worker.latency_seconds = made.latency_seconds;
  worker.message_seconds = made.message_seconds;
  worker.send_seconds = own - made.message_seconds;
  worker.receive_seconds = own;
  worker.curve.overhead_seconds = made.step_seconds * LogUniform(random, 1e-4, 3e-3);
  made.truth.samples = 8192;
  made.truth.notice_seconds = made.latency_seconds;
  made.truth.data_seconds = made.step_seconds * LogUniform(random, 0.05, 2);
  made.truth.remaining_steps = steps;
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
  Trouble trouble;
  trouble.pause_probability = random.Chance(0.5) ? 0 : LogUniform(random, 1e-4, 5e-3);
  trouble.pause_seconds = made.step_seconds * LogUniform(random, 0.5, 10);
  made.profile = Mismeasured(made.truth, random);
  made.faults = TransientFaults(made, trouble, random, steps);
  made.truth.doubt = 0;
  return made;
}

}  // namespace motley
