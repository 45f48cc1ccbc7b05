// SPDX-License-Identifier: Apache-2.0
#include "runtime/run_recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace motley {
namespace {

constexpr size_t kRemembered = 64;
// Limits of the pieces into which work_order.cc cuts a worker's part of a step.
constexpr double kLeastPieceSamples = 32;
constexpr double kMostPieces = 6;
constexpr double kNew = 0.05;  // The weight of one more part in the mean.
// A link's time behind bytes counts when it is this many times the time without.
constexpr double kNoticeable = 1.25;

// A link that was in use carried something.
double RateOf(double bytes_per_second) {
  return bytes_per_second > 0 ? std::max(bytes_per_second, kLeastRate) : 0;
}

double PiecesOf(double samples) {
  return std::clamp(std::ceil(samples / kLeastPieceSamples), 1.0, kMostPieces);
}

}  // namespace

void RecentMedian::Add(double value) {
  if (values_.size() < kRemembered) {
    values_.push_back(value);
  } else {
    values_[next_] = value;
    next_ = (next_ + 1) % kRemembered;
  }
}

double RecentMedian::Of(double otherwise) const {
  if (values_.empty()) return otherwise;
  std::vector<double> sorted = values_;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

RunRecorder::RunRecorder(ClusterProfile about, Write write)
    : about_(std::move(about)), write_(std::move(write)) {
  write_(std::string(kRunTraceColumns) + "\n");
}

void RunRecorder::OnEvent(const JobEvent& event) {
  Handle(event, [this](const auto& each) -> decltype(On(each)) { On(each); });
}

void RunRecorder::On(const event::WorkerJoined& event) { workers_[event.worker].name = event.name; }

void RunRecorder::On(const event::WorkComputed& event) {
  Seen& seen = workers_[event.worker];
  if (seen.line.step != event.step) Flush(seen);
  seen.line.step = event.step;
  seen.line.worker = event.worker;
  const double seconds = ToSeconds(event.compute);
  if (event.so_far) {
    seen.line.samples = event.samples;
    seen.line.compute_seconds = seconds;
  } else {
    seen.line.samples += event.samples;
    seen.line.compute_seconds += seconds;
  }
}

void RunRecorder::On(const event::VectorReceived& event) {
  if (event.bytes == 0 || event.time <= Duration::zero()) return;
  Seen& seen = workers_[event.worker];
  seen.up.Add(static_cast<double>(event.bytes) / ToSeconds(event.time));
  if (seen.line.step != event.step) Flush(seen);
  seen.line.step = event.step;
  seen.line.worker = event.worker;
  seen.line.vector_bytes = event.bytes;
  seen.line.vector_seconds = ToSeconds(event.time);
}

void RunRecorder::On(const event::RoundTrip& event) {
  Seen& seen = workers_[event.worker];
  const double seconds = ToSeconds(event.time);
  if (event.bytes == 0) return seen.round_trip.Add(seconds);
  const double alone = seen.round_trip.Of(0);
  // A smaller difference cannot be distinguished from none.
  if (alone > 0 && seconds > kNoticeable * alone) {
    seen.down.Add(static_cast<double>(event.bytes) / (seconds - alone));
  }
}

void RunRecorder::On(const event::LinkMeasured& event) {
  if (event.time <= Duration::zero()) return;
  double& alone = workers_[event.worker].up_alone;
  alone = std::max(alone, static_cast<double>(event.bytes) / ToSeconds(event.time));
}

void RunRecorder::Flush(Seen& seen) {
  const RunTraceLine line = std::exchange(seen.line, RunTraceLine());
  if (line.samples == 0 || !(line.compute_seconds > 0)) return;
  write_(FormatRunTraceLine(line));
  const auto samples = static_cast<double>(line.samples);
  const double pieces = PiecesOf(samples);
  if (!seen.device) {
    DeviceProfile first;
    first.samples_per_second = samples / line.compute_seconds;
    seen.device.emplace(first);
    seen.parts = pieces;
  }
  seen.parts += kNew * (pieces - seen.parts);
  seen.device->Add(samples / pieces, FromSeconds(line.compute_seconds / pieces));
}

void RunRecorder::Finish() {
  for (auto& [worker, seen] : workers_) Flush(seen);
}

DeviceProfile RunRecorder::DeviceOf(const Seen& seen) const {
  DeviceProfile device = seen.device->profile();
  // A part's time is the sum of its pieces' times. Each piece varies more than the sum, and a slow
  // piece is only some of it.
  device.jitter = std::min(device.jitter * std::sqrt(seen.parts), kMostJitter);
  device.tail_probability /= seen.parts;
  device.tail_factor = std::min(1 + (device.tail_factor - 1) * seen.parts, kMostTailFactor);
  return device;
}

ClusterProfile RunRecorder::Profile() const {
  ClusterProfile profile = about_;
  profile.workers.clear();
  RecentMedian typical;
  for (const auto& [id, seen] : workers_) {
    if (seen.device) typical.Add(seen.device->profile().samples_per_second);
  }
  if (typical.empty()) return profile;
  profile.workers.resize(workers_.rbegin()->first + 1);
  for (WorkerId id = 0; id < profile.workers.size(); ++id) {
    WorkerProfile& worker = profile.workers[id];
    const auto at = workers_.find(id);
    if (at != workers_.end() && at->second.device) {
      const Seen& seen = at->second;
      worker.device = DeviceOf(seen);
      const double latency = seen.round_trip.Of(0) / 2;
      // Vectors that arrive together share the server's link, which is not the worker's own.
      const double up = std::max(seen.up.Of(0), seen.up_alone);
      worker.link = {latency, RateOf(up), LinkDirection{latency, RateOf(seen.down.Of(0))}};
    } else {
      worker.device.samples_per_second = typical.Of(0);
    }
    worker.device.name = at != workers_.end() ? at->second.name : "";
    if (worker.device.name.empty()) worker.device.name = fmt::format("worker-{}", id);
  }
  return profile;
}

}  // namespace motley
