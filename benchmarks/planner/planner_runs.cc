// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/planner/planner_runs.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/random.h"
#include "coding/schemes.h"
#include "fmt/core.h"
#include "sim/sim_cluster.h"

namespace motley {
namespace {

constexpr uint32_t kFeatures = 2;  // Features of samples, whose data are sent as they are.
// Vectors are cut as in jobs, but into only as many slices as are needed to share the server's
// link.
constexpr double kSliceBytes = 1 << 20, kLeastSlices = 4, kMostSlices = 32;
constexpr double kSocketBytes = 4 << 20;
constexpr double kLong = 1e7;  // Virtual seconds.

ClusterProfile ProfileOf(const PlannerCase& made) {
  ClusterProfile cluster;
  cluster.name = "grid";
  cluster.gradient_bytes = static_cast<uint64_t>(made.gradient_bytes);
  for (const PlannedWorker& planned : made.truth.workers) {
    WorkerProfile worker;
    worker.device.samples_per_second = 1 / planned.curve.seconds_per_sample;
    worker.device.overhead_seconds = planned.curve.overhead_seconds;
    worker.device.knee_samples = planned.curve.knee_samples;
    worker.device.jitter = planned.jitter;
    worker.link.latency_seconds = planned.latency_seconds;
    worker.link.bytes_per_second =
        made.gradient_bytes / (planned.message_seconds + planned.send_seconds);
    cluster.workers.push_back(worker);
  }
  return cluster;
}

// The workers that are slow or die in each step. A slow one recovers in the next step; a dead one
// returns within a second.
std::vector<Fault> FaultsOf(const PlannerCase& made, uint64_t steps, uint64_t seed) {
  if (made.whole_job) return made.faults;
  std::vector<Fault> faults;
  Random random(seed, Stream::kSimulation, 1);
  std::vector<double> slowed(made.truth.workers.size(), 1);
  for (StepId step = 1; step < steps; ++step) {
    for (WorkerId w = 0; w < slowed.size(); ++w) {
      const PlannedWorker& worker = made.truth.workers[w];
      const bool slow = random.Chance(worker.slow_probability);
      const bool dies = random.Chance(worker.loss_probability);
      const double before = std::exchange(slowed[w], slow && !dies ? worker.slow_factor : 1);
      if (before != slowed[w]) {
        faults.push_back(
            {.kind = Fault::Kind::kSlow, .worker = w, .step = step, .factor = slowed[w] / before});
      }
      if (dies) faults.push_back({.kind = Fault::Kind::kKill, .worker = w, .step = step});
    }
  }
  return faults;
}

SimOptions OptionsOf(const PlannerCase& made, const SimulatedSteps& steps, uint64_t seed) {
  SimOptions options;
  options.trainer = SimTrainer::kCostOnly;
  options.cluster = ProfileOf(made);
  options.seed = seed;
  // Buffers can fill long links, like those with which a profile's bandwidth was measured.
  const LinkProfile& link = options.cluster.workers.front().link;
  options.socket_buffer_bytes =
      static_cast<size_t>(std::max(kSocketBytes, 2 * link.latency_seconds * link.bytes_per_second));
  options.server_bytes_per_second = made.gradient_bytes / made.message_seconds;
  options.max_virtual_seconds = kLong;
  options.random_faults.restart = 1;
  options.random_faults.until_seconds = kLong;
  options.job.workers = static_cast<uint32_t>(made.truth.workers.size());
  options.job.batch = static_cast<uint32_t>(made.truth.samples);
  options.job.steps = made.truth.remaining_steps;
  options.stop_after_steps = steps.skipped + steps.counted;
  options.data_bytes = made.truth.data_seconds * options.server_bytes_per_second;
  options.job.audit_fraction = 0;
  const double slices = std::clamp(made.gradient_bytes / kSliceBytes, kLeastSlices, kMostSlices);
  const auto pairs = static_cast<uint32_t>(made.gradient_bytes / slices / (2 * sizeof(float)));
  options.job.slice_length = 2 * pairs + 2;
  options.faults = FaultsOf(made, options.stop_after_steps, seed);
  return options;
}

constexpr const char* kLeases = "adaptive";

// Records each step's code, and whether data were sent in it.
class StepTracker final : public JobObserver {
 public:
  explicit StepTracker(uint32_t partitions) : partitions_(partitions) {}

  void OnEvent(const JobEvent& event) override {
    if (const auto* opened = std::get_if<event::StepOpened>(&event)) {
      codes_.resize(opened->step + 1);
      codes_[opened->step] = opened->code.rows.empty() ? kLeases : opened->code.name;
      sent_.resize(opened->step + 1, 0);
    } else if (const auto* noticed = std::get_if<event::Noticed>(&event)) {
      const auto* notice = std::get_if<Notice>(&noticed->notice);
      const bool chosen = notice != nullptr && std::holds_alternative<notice::CodeChosen>(*notice);
      if (chosen) announced_ = codes_.size();
    } else if (const auto* given = std::get_if<event::CommandGiven>(&event)) {
      const auto* place = std::get_if<PlacePartitions>(&given->command);
      if (place != nullptr && !sent_.empty()) sent_.back() += place->partitions.size();
    }
  }
  // The code changed since the last announced choice, so it is one of the trials.
  bool InTrial() const {
    size_t changed = codes_.size() - 1;
    while (changed > 0 && codes_[changed] == codes_[changed - 1]) --changed;
    return changed > announced_;
  }
  // Leases send copies a few at a time, and once; rows of late workers are sent repeatedly.
  bool Undisturbed(StepId step, const std::string& code) const {
    const double most = code == kLeases ? 0 : kMuchSent * partitions_;
    return codes_[step] == code && static_cast<double>(sent_[step]) <= most;
  }

 private:
  static constexpr double kMuchSent = 0.05;  // Fraction of all data.

  const uint32_t partitions_;
  std::vector<std::string> codes_;
  std::vector<size_t> sent_;
  size_t announced_ = 0;  // First step of the announced choice.
};

// Trials become rarer as a job goes on.
void SettledSteps(const std::vector<double>& seconds, const StepTracker& tracker, uint32_t skipped,
                  const std::string& last, SimulatedJob& job) {
  double sum = 0;
  for (StepId step = skipped; step < seconds.size(); ++step) {
    if (!tracker.Undisturbed(step, last)) continue;
    sum += seconds[step];
    ++job.settled_steps;
  }
  job.settled = job.settled_steps > 0 ? sum / job.settled_steps : job.step;
  for (StepId step = seconds.size() / 2; step < seconds.size(); ++step) {
    if (!tracker.Undisturbed(step, last)) job.trying += seconds[step] - job.settled;
  }
}

}  // namespace

Result<SimulatedJob> RunOnTruth(const PlannerCase& made, const SimulatedJobCode& what,
                                const SimulatedSteps& steps, uint64_t seed) {
  SimOptions options = OptionsOf(made, steps, seed);
  options.job.code = what.code;
  options.job.tolerate = what.tolerate;
  options.job.parts = what.parts;
  options.job.most_workers = what.workers;
  const Dataset data = MakeSyntheticDataset(options.job.batch, kFeatures, 0, 1);
  MOTLEY_ASSIGN_OR_RETURN(const uint32_t partitions,
                          PartitionCount(options.job.batch, options.job.workers));
  StepTracker tracker(partitions);
  MOTLEY_ASSIGN_OR_RETURN(SimResult result, Simulate(options, data, &tracker));
  if (!result.violations.empty()) return Status::Internal(result.violations.front());
  std::vector<double>& seconds = result.job.step_seconds;
  if (seconds.size() < options.stop_after_steps) return result.job.status;
  seconds.resize(options.stop_after_steps);
  const auto first = seconds.begin() + steps.skipped;
  SimulatedJob job;
  job.first = seconds.front();
  job.learning = std::accumulate(seconds.begin(), first, 0.0);
  job.step = std::accumulate(first, seconds.end(), 0.0) / steps.counted;
  job.choices = std::move(result.job.scheduler.choices);
  const std::string chosen = job.choices.empty() ? kLeases : job.choices.back().code;
  SettledSteps(seconds, tracker, steps.skipped,
               SchemeNamed(what.code).chosen_later() ? chosen : what.code, job);
  job.undecided = SchemeNamed(what.code).chosen_later() && tracker.InTrial();
  return job;
}

}  // namespace motley
