// SPDX-License-Identifier: Apache-2.0
#include "sim/liveness_limit.h"

#include <algorithm>

#include "coding/codes/multi_message_code.h"
#include "coding/gradient_code.h"
#include "sim/faults/random_fault.h"
#include "sim/faults/recorded_times.h"

namespace motley {
namespace {

constexpr double kMargin = 10;
constexpr double kPiecesPerRow = 8;    // Pieces of work; each has its overhead.
constexpr double kMessagesPerRow = 8;  // Messages that follow one another.
// Seconds: two measurements of all links, each short and then long, whose reports come late.
constexpr double kLongestSurvey = 2 * (0.3 + 2 + 2 * 5);
constexpr uint32_t kMostCopiesOfAuto = 3;  // The most copies that `auto` chooses by itself.
constexpr double kLongestServerFault = 2;  // Seconds; a shard server dies or stands still.
constexpr double kFrameBytes = 4096;       // Control messages and headers of a row.

// The time of the smallest piece of work.
double LeastPieceSeconds(const DeviceProfile& device) {
  return device.overhead_seconds + device.knee_samples / device.samples_per_second;
}

// The part of its speed that a worker keeps when the better of its two devices breaks.
double LeastPart(const SimOptions& options, size_t worker) {
  const auto& second = options.second_devices;
  if (worker >= second.size() || second[worker] == 0) return 1;
  return std::min(second[worker], 1 - second[worker]);
}

double LinkSeconds(const LinkDirection& way, double rows, double bytes, const SimOptions& options) {
  const double sending = way.bytes_per_second > 0 ? bytes / way.bytes_per_second : 0;
  return sending + rows * kMessagesPerRow * (way.latency_seconds + 3 * options.link_jitter_seconds);
}

}  // namespace

Duration LivenessLimit(const SimOptions& options, const Dataset& data, size_t vector_length) {
  double scripted_slowness = 1;
  double longest_fault = options.random_faults.kill_server_every > 0 ? kLongestServerFault : 0;
  for (const FaultKind* kind : FaultKinds()) {
    const bool on = options.random_faults.*kind->every > 0;
    if (on) longest_fault = std::max(longest_fault, kind->longest_seconds);
  }
  for (const Fault& fault : options.faults) {
    scripted_slowness *= std::max(1.0, fault.factor);
    longest_fault = std::max(longest_fault, ToSeconds(fault.duration));
  }
  const JobOptions& job = options.job;
  double rows = job.workers;
  const Scheme& scheme = SchemeNamed(job.code);
  uint32_t copies = std::max(scheme.Computed(job.tolerate, job.parts), job.tolerate + 1);
  if (scheme.chosen_later()) copies = std::max(copies, kMostCopiesOfAuto);
  const bool lists = scheme.sharing == Sharing::kRowList || scheme.chosen_later();
  if (lists) rows *= kMessagesPerWorker;
  if (scheme.sharing == Sharing::kKeptRows)
    rows *= kMessagesPerWorker + 1;  // Messages and the answer.
  const double samples = static_cast<double>(job.batch) * copies;
  const double bytes = std::max(static_cast<double>(data.size_bytes()), options.data_bytes) +
                       rows * (static_cast<double>(vector_length) * 8 + kFrameBytes);
  double slowest = 0;
  for (size_t i = 0; i < options.cluster.workers.size(); ++i) {
    const WorkerProfile& worker = options.cluster.workers[i];
    const double speed = worker.device.samples_per_second * LeastPart(options, i);
    double seconds = samples / speed + rows * kPiecesPerRow * LeastPieceSeconds(worker.device);
    seconds *= scripted_slowness * (1 + 3 * worker.device.jitter);
    if (options.shared_processors > 0) seconds *= 1 + job.workers / options.shared_processors;
    if (worker.device.tail_probability > 0) seconds *= std::max(1.0, worker.device.tail_factor);
    seconds += std::max(LinkSeconds(worker.link.Up(), rows, bytes, options),
                        LinkSeconds(worker.link.Down(), rows, bytes, options));
    slowest = std::max(slowest, seconds);
  }
  if (options.replay != nullptr) {
    slowest += scripted_slowness * options.replay->LongestSeconds(samples);
  }
  double start = ToSeconds(options.job.start_timeout);
  if (options.job.holders != JobOptions::Holders::kServer) start += kLongestSurvey;
  const ServerRates rates = options.server_rates();
  for (const double rate : {rates.in, rates.out}) {
    if (rate > 0) slowest += (data.size_bytes() + rows * bytes) / rate;
  }
  return FromSeconds(std::min(kMargin * (slowest + longest_fault) + start, 1e8));
}

}  // namespace motley
