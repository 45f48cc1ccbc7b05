// SPDX-License-Identifier: Apache-2.0
#include "sim/faults/recorded_times.h"

#include <algorithm>

#include "profiles/ideal_step.h"

namespace motley {
namespace {

constexpr int kHalvings = 24;  // Finds samples to one part in 16 million.
constexpr double kPrecision = 1e-3;
// The same as in SimDevice: jitter never makes a piece shorter than this part of its time.
constexpr double kShortest = 0.1;
constexpr double kDeviations = 6;  // Noise never deviates further.

double Transfer(double bytes, double bytes_per_second) {
  return bytes_per_second > 0 ? bytes / bytes_per_second : 0;
}

// The most samples that one device computes in `seconds`, rounded up.
double MostSamples(const StepSpeed& worker, double seconds, double most) {
  seconds *= worker.hastened;
  if (!worker.compute) return worker.samples_per_second * seconds;
  if (worker.compute(most) <= seconds) return most;
  double low = 0, high = most;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (worker.compute(middle) <= seconds ? low : high) = middle;
  }
  return low > 0 ? high : 0;
}

}  // namespace

std::function<double(double)> RunTimes::Compute(uint64_t step, WorkerId worker) const {
  const double seconds = trace_.At(step, worker).seconds_per_sample;
  if (!(seconds > 0)) return nullptr;
  return [seconds](double samples) { return samples * seconds; };
}

double RunTimes::BytesPerSecond(uint64_t step, WorkerId worker) const {
  return trace_.At(step, worker).bytes_per_second;
}

double RunTimes::LongestSeconds(double samples) const {
  double longest = 0;
  for (const RunTrace::Cell& cell : trace_.cells) {
    longest = std::max(longest, cell.seconds_per_sample);
  }
  return samples * longest;
}

double IdealSeconds(const std::vector<StepSpeed>& workers, double samples, double guess) {
  IdealStep step;
  step.samples = samples;
  for (const StepSpeed& worker : workers) {
    step.workers.push_back({.samples =
                                [&worker, samples](double seconds) {
                                  return worker.devices * MostSamples(worker, seconds, samples);
                                },
                            .latency_seconds = worker.latency_seconds,
                            .up_seconds = worker.up_seconds,
                            .down_seconds = worker.down_seconds});
  }
  return IdealSeconds(step, guess, kPrecision);
}

ReplayDriver::ReplayDriver(const SimOptions& options, const FaultDriver::Workers& workers,
                           std::function<double(StepId)> samples, double vector_bytes)
    : options_(options),
      workers_(workers),
      samples_(std::move(samples)),
      vector_bytes_(vector_bytes) {
  for (WorkerId w = 0; w < options.cluster.workers.size(); ++w) {
    const DeviceProfile& device = options.cluster.workers[w].device;
    StepSpeed speed;
    speed.samples_per_second =
        device.samples_per_second / std::max(kShortest, 1 - kDeviations * device.jitter);
    if (w < options.second_devices.size() && options.second_devices[w] > 0) speed.devices = 2;
    for (const Fault& fault : options.faults) {
      const bool own = fault.kind == Fault::Kind::kSlow && fault.worker == w;
      if (own && fault.factor < 1) speed.hastened /= fault.factor;
    }
    const LinkDirection up = options.cluster.workers[w].link.Up();
    const LinkDirection down = options.cluster.workers[w].link.Down();
    speed.latency_seconds = up.latency_seconds + down.latency_seconds;
    speed.up_seconds = Transfer(vector_bytes, up.bytes_per_second);
    speed.down_seconds = Transfer(vector_bytes, down.bytes_per_second);
    speeds_.push_back(std::move(speed));
  }
}

void ReplayDriver::OnEvent(const JobEvent& event) {
  Handle(event, [this](const auto& each) -> decltype(On(each)) { On(each); });
}

void ReplayDriver::On(const event::StepOpened& event) {
  const RecordedTimes& times = *options_.replay;
  const uint64_t recorded = (options_.replay_from + event.step) % times.steps();
  const size_t count = std::min<size_t>(workers_.size(), times.workers());
  for (WorkerId w = 0; w < count; ++w) {
    auto compute = times.Compute(recorded, w);
    if (compute) speeds_[w].compute = compute;  // Without a recording the last one stays.
    const double rate = times.BytesPerSecond(recorded, w);
    if (rate > 0) speeds_[w].up_seconds = Transfer(vector_bytes_, rate);
    workers_[w]->Replay(std::move(compute), rate);
  }
  if (open_ == event.step) return;  // The step was opened again.
  open_ = event.step;
  const double guess = ideal_.empty() ? 1 : ideal_.back();
  ideal_.push_back(IdealSeconds(speeds_, samples_(event.step), guess));
}

}  // namespace motley
