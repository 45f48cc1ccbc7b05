// SPDX-License-Identifier: Apache-2.0
#include "planner/planned_cluster.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "planner/planned_reduction.h"
#include "scheduler/placement/row_speeds.h"
#include "scheduler/step/pieces.h"

namespace motley {
namespace {

// A vector may have waited for the server's link if it took at most this many times as long as all
// vectors together take the link.
constexpr double kMayBeShared = 1.25;

// The number of pieces in a step of this worker. A profile describes the variation of single
// pieces.
double PiecesOf(const WorkerProfile& worker, double samples, double speed_of_all) {
  const double share = samples * worker.device.samples_per_second / speed_of_all;
  const double pieces = std::floor(share / static_cast<double>(kLeastPieceSamples));
  return std::clamp(pieces, 1.0, static_cast<double>(kPiecesOfRow));
}

// Sets the variation of a whole step. The step is slow if one of its pieces is, and the slow pieces
// make it longer by their extra time.
void SpreadOverPieces(const DeviceProfile& device, double pieces, PlannedWorker& planned) {
  planned.jitter = device.jitter / std::sqrt(pieces);
  if (device.tail_probability <= 0) return;
  planned.slow_probability = 1 - std::pow(1 - device.tail_probability, pieces);
  planned.slow_factor =
      1 + (device.tail_factor - 1) * device.tail_probability / planned.slow_probability;
}

}  // namespace

PlannedCluster ClusterOf(const ClusterProfile& profile, const PlannedJob& job) {
  PlannedCluster cluster;
  cluster.samples = job.samples;
  cluster.notice_seconds = job.notice_seconds;
  cluster.remaining_steps = job.remaining_steps;
  const double floats =
      job.gradient_bytes > 0 ? job.gradient_bytes : static_cast<double>(profile.gradient_bytes);
  const double bytes = BytesOnWire(job.wire, floats);
  cluster.gradient_bytes = bytes;
  const ServerRates server = ServerRatesOf(profile);
  if (server.out > 0) cluster.data_seconds = job.data_bytes / server.out;
  double speed = 0;
  for (const WorkerProfile& worker : profile.workers) speed += worker.device.samples_per_second;
  for (const WorkerProfile& worker : profile.workers) {
    const LinkDirection up = worker.link.Up();
    PlannedWorker planned;
    planned.curve = CurveOf(worker.device);
    SpreadOverPieces(worker.device, PiecesOf(worker, job.samples, speed), planned);
    planned.loss_probability = job.loss_probability;
    const LinkDirection down = worker.link.Down();
    planned.latency_seconds = (up.latency_seconds + down.latency_seconds) / 2;
    if (down.bytes_per_second > 0) planned.receive_seconds = bytes / down.bytes_per_second;
    if (server.in > 0) planned.message_seconds = bytes / server.in;
    planned.server_send_seconds = server.out > 0 ? bytes / server.out : 0;
    if (up.bytes_per_second > 0) {
      planned.send_seconds = std::max(0.0, bytes / up.bytes_per_second - planned.message_seconds);
    }
    cluster.workers.push_back(planned);
  }
  if (job.reduce && bytes > 0) {
    cluster.reduction = ReductionOf(profile, floats, *job.reduce, job);
  }
  return cluster;
}

double BytesOnWire(WireFormat wire, double bytes) {
  if (wire == WireFormat::kFloat32) return bytes;
  return static_cast<double>(
      WireBytes(wire, static_cast<size_t>(std::llround(bytes / sizeof(float)))));
}

uint32_t PartitionsFor(const PlannedCluster& cluster) {
  const uint64_t wanted = std::max(kPartitionsPerWorker * cluster.workers.size(), kLeastPartitions);
  const auto most = static_cast<uint64_t>(std::max(1.0, cluster.samples));
  return static_cast<uint32_t>(std::max<uint64_t>(std::min(wanted, most), cluster.workers.size()));
}

std::vector<StepWorker> StepWorkersOf(const PlannedCluster& cluster, uint32_t partitions) {
  const double samples = cluster.samples / partitions;
  std::vector<StepWorker> workers;
  workers.reserve(cluster.workers.size());
  for (const PlannedWorker& planned : cluster.workers) {
    StepWorker worker;
    worker.seconds_per_partition = planned.curve.seconds_per_sample * samples;
    worker.piece_overhead_seconds = planned.curve.overhead_seconds;
    worker.piece_knee = planned.curve.knee_samples / samples;
    worker.least_piece = kLeastPieceSamples / samples;
    worker.latency_seconds = planned.latency_seconds;
    worker.message_seconds = planned.message_seconds;
    worker.send_seconds = planned.send_seconds;
    worker.start_seconds = planned.latency_seconds + planned.receive_seconds;
    worker.start_link_seconds = planned.server_send_seconds.value_or(planned.message_seconds);
    worker.data_seconds = cluster.commit_seconds;
    workers.push_back(worker);
  }
  return workers;
}

PlannedCluster WithFewer(const PlannedCluster& cluster, uint32_t workers) {
  if (workers == 0 || !cluster.seen_together) return cluster;
  PlannedCluster fewer = cluster;
  const auto all = static_cast<double>(cluster.workers.size());
  for (PlannedWorker& worker : fewer.workers) {
    const double together = kMayBeShared * all * worker.message_seconds;
    const double alone = worker.message_seconds + worker.send_seconds;
    if (!worker.link_measured && alone <= together) worker.send_seconds = 0;
    // The link may be assumed to be symmetric unless measurements showed otherwise.
    const double down = worker.link_measured ? alone : worker.message_seconds;
    if (worker.receive_seconds <= together) {
      worker.receive_seconds = std::min(worker.receive_seconds, down);
    }
  }
  return fewer;
}

std::vector<bool> FastestWorkers(const PlannedCluster& cluster, uint32_t workers) {
  std::vector<double> speeds;
  const double share = cluster.samples / std::max(1U, workers);
  for (const PlannedWorker& worker : cluster.workers) {
    speeds.push_back(1 / (share * worker.curve.seconds_per_sample + worker.send_seconds));
  }
  std::vector<bool> among(speeds.size(), false);
  for (const size_t w : FastestOf(speeds, workers == 0 ? speeds.size() : workers)) among[w] = true;
  return among;
}

PlannedCluster SampleOf(const PlannedCluster& cluster, uint32_t workers) {
  const size_t n = cluster.workers.size();
  if (workers >= n) return cluster;
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return cluster.workers[a].curve.seconds_per_sample <
           cluster.workers[b].curve.seconds_per_sample;
  });
  PlannedCluster sample = cluster;
  sample.workers.clear();
  for (PlannedRound& round : sample.rounds) round.workers.clear();
  const double part = static_cast<double>(workers) / static_cast<double>(n);
  double all_rate = 0, rate = 0;
  for (const PlannedWorker& worker : cluster.workers)
    all_rate += 1 / worker.curve.seconds_per_sample;
  for (uint32_t i = 0; i < workers; ++i) {
    const size_t drawn = order[static_cast<size_t>((i + 0.5) / part)];
    PlannedWorker worker = cluster.workers[drawn];
    for (size_t r = 0; r < sample.rounds.size(); ++r) {
      sample.rounds[r].workers.push_back(cluster.rounds[r].workers[drawn]);
    }
    worker.message_seconds /= part;
    if (worker.server_send_seconds) *worker.server_send_seconds /= part;
    rate += 1 / worker.curve.seconds_per_sample;
    sample.workers.push_back(worker);
  }
  sample.samples *= rate / all_rate;
  return sample;
}

}  // namespace motley
