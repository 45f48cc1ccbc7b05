// SPDX-License-Identifier: Apache-2.0
#include "scheduler/membership.h"

#include <algorithm>
#include <cmath>

namespace motley {
namespace {

constexpr WorkerId kMaxWorkers = 4096;
// A worker's own claim about its speed is limited to this many times the median of all, until work
// has confirmed it. Otherwise a worker that claims everything would be given everything, and its
// silence would look like data that are on their way to all workers.
constexpr double kMostClaim = 32;

}  // namespace

double Worker::speed() const {
  const double known = estimator.samples_per_second();
  if (speed_bound > 0 && (known == 0 || speed_bound < known)) return speed_bound;
  return known;
}

Membership::Membership(uint32_t expected, uint32_t partitions)
    : partitions_(partitions), workers_(expected) {}

Membership::Joined Membership::Join(WorkerId id, Incarnation incarnation, Time now) {
  if (id >= kMaxWorkers && id >= workers_.size()) return Joined::kRefused;
  if (id >= workers_.size()) workers_.resize(id + 1);
  Worker& worker = workers_[id];
  if (worker.live && worker.incarnation == incarnation) return Joined::kDuplicate;
  const Joined result = worker.live ? Joined::kAgain : Joined::kNew;
  // A new process holds nothing, whatever the old one held. Its cost and its speed stay known.
  Worker fresh;
  fresh.estimator = worker.estimator;
  fresh.stats = worker.stats;
  fresh.to_send = worker.to_send;
  worker = std::move(fresh);
  worker.live = true;
  worker.incarnation = incarnation;
  worker.holds.assign(partitions_, false);
  worker.waiting_since = now;
  worker.stats.joined = true;
  worker.stats.lost = worker.stats.left = false;
  return result;
}

void Membership::Free(const WorkerFree& event, Time now) {
  Worker& worker = workers_[event.worker];
  if (event.speed_hint > 0 && std::isfinite(event.speed_hint)) {
    worker.estimator = SpeedEstimator(event.speed_hint);
  }
  worker.estimator.Add(event.samples, event.compute);
  if (event.samples > 0) worker.speed_bound = 0;
  worker.stats.samples += event.samples;
  worker.ready = true;
  // The worker ends every row that it was given in order, even rows that are no longer needed.
  if (worker.queued > 0) --worker.queued;
  worker.free = worker.queued == 0;
  Hear(event.worker, now);
}

void Membership::Lose(WorkerId id, bool leaves) {
  Worker& worker = workers_[id];
  worker.live = false;
  worker.ready = false;
  worker.free = false;
  worker.left_out = false;
  worker.stats.lost = !leaves;
  worker.stats.left = leaves;
}

void Membership::Hear(WorkerId id, Time now) {
  Worker& worker = workers_[id];
  worker.heard = true;
  worker.silent_steps = 0;
  worker.waiting_since = now;
}

uint32_t Membership::LiveCount() const {
  return static_cast<uint32_t>(
      std::count_if(workers_.begin(), workers_.end(), [](const Worker& w) { return w.live; }));
}

uint32_t Membership::ReadyCount() const {
  return static_cast<uint32_t>(std::count_if(workers_.begin(), workers_.end(),
                                             [](const Worker& w) { return w.live && w.ready; }));
}

std::vector<WorkerId> Membership::Candidates() const {
  std::vector<WorkerId> present, ready;
  present.reserve(workers_.size());
  ready.reserve(workers_.size());
  for (WorkerId id = 0; id < size(); ++id) {
    if (!workers_[id].live || !workers_[id].ready) continue;
    ready.push_back(id);
    if (!workers_[id].left_out) present.push_back(id);
  }
  return present.empty() ? ready : present;
}

std::vector<double> Membership::SpeedsOf(const std::vector<WorkerId>& ids) const {
  std::vector<double> speeds, known;
  speeds.reserve(ids.size());
  known.reserve(ids.size());
  for (const WorkerId id : ids) {
    speeds.push_back(workers_[id].speed());
    if (speeds.back() > 0) known.push_back(speeds.back());
  }
  std::sort(known.begin(), known.end());
  const double typical = known.empty() ? 1 : known[known.size() / 2];
  const double most = known.empty() ? typical : kMostClaim * known[(known.size() - 1) / 2];
  for (size_t i = 0; i < ids.size(); ++i) {
    if (speeds[i] <= 0) speeds[i] = typical;
    if (workers_[ids[i]].estimator.measurements() == 0) speeds[i] = std::min(speeds[i], most);
  }
  return speeds;
}

std::vector<double> Membership::NoiseOf(const std::vector<WorkerId>& ids) const {
  std::vector<double> noise;
  noise.reserve(ids.size());
  for (const WorkerId id : ids) noise.push_back(workers_[id].estimator.noise());
  return noise;
}

}  // namespace motley
