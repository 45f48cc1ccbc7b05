// SPDX-License-Identifier: Apache-2.0
#include "scheduler/leases/lease_learning.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace motley {
namespace {

// A speed is proven wrong after this many times the time of one report without progress.
constexpr double kSlow = 1.25;
constexpr StepId kLatencySteps = 32;  // A latency is measured again after this many steps.
constexpr double kFaster = 1.3;       // A speed this many times the predicted one is not noise.
constexpr double kNoBound = std::numeric_limits<double>::infinity();

}  // namespace

uint32_t DataInFront(const JobState& job, const LeaseWatch& watch, WorkerId worker) {
  return std::max(watch.placed, job.transfers.InFront(worker));
}

bool LatencyIsDue(const JobState& job, WorkerId worker) {
  const LeaseHabits& habits = job.habits[worker];
  if (habits.round_trips == 0) return true;
  return !job.transfers.InTheWayOf(worker, job.now) &&
         (habits.behind_data || job.version >= habits.round_trip_in + kLatencySteps);
}

void LearnFromProgress(const LeaseProgress& event, Time opened, JobState& job, LeaseWatch& watch) {
  LeaseHabits& habits = job.habits[event.worker];
  const uint32_t more = event.done - watch.done;
  const double elapsed = ToSeconds(job.now - watch.moved);
  double expected = 2 * habits.latency + more * watch.seconds;
  if (watch.done == 0) expected += habits.overhead;
  const bool waited = job.transfers.InTheWayOf(event.worker, watch.moved);
  const bool settled = job.members[event.worker].estimator.settled();
  if (settled && watch.placed > 0) {
    job.deadlines.AddBegun(job.now - watch.moved, expected, watch.placed);
  } else if (settled && !waited) {
    job.deadlines.AddArrival(job.now - watch.moved, expected, 0);
  }
  if (watch.first > 0 && event.done >= watch.first) {
    const uint32_t all = std::exchange(watch.first, 0);
    job.deadlines.AddArrival(job.now - opened, ToSeconds(event.compute), all);
  }
  if (watch.done == 0 && !waited && watch.since == opened) {
    habits.SawOverhead(elapsed - ToSeconds(event.compute) - habits.latency);
  }
  watch.chunk = std::max(watch.chunk, more);
  watch.done = event.done;
  watch.compute = event.compute;
  watch.moved = job.now;
  watch.placed = 0;
}

void MeasureSpeed(WorkerId id, bool owes, JobState& job, const LeaseWatch& watch) {
  LeaseHabits& habits = job.habits[id];
  Worker& worker = job.members[id];
  if (watch.since == Time{}) {
    habits.tried = ++habits.idle_steps >= habits.try_after;
    return;
  }
  habits.idle_steps = 0;
  if (watch.done > 0) {
    const double samples = watch.done * job.samples_per_partition();
    // The trial goes on as long as the worker turns out faster than predicted.
    habits.tried = habits.tried && samples > kFaster * worker.speed() * ToSeconds(watch.compute);
    habits.try_after = LeaseHabits::kFirstTry;
    habits.SawChunk(watch.chunk);
    worker.speed_bound = 0;
    const auto whole = static_cast<uint64_t>(std::max(1LL, std::llround(samples)));
    worker.estimator.Add(whole, watch.compute);
    worker.stats.samples += whole;
    return;
  }
  if (std::exchange(habits.tried, false)) {
    habits.try_after = std::min(2 * habits.try_after, LeaseHabits::kLastTry);
  }
  const double seconds = ToSeconds(job.now - watch.since) - habits.overhead;
  const bool waited = job.transfers.Delayed(id, watch.since);
  if (!owes || waited || seconds < kSlow * habits.chunk * watch.seconds) return;
  // The worker has not finished a partition, and not for the first time, so it is far from it.
  const double again = worker.speed_bound > 0 ? worker.speed_bound / 2 : kNoBound;
  worker.speed_bound = std::min(again, job.samples_per_partition() / seconds);
}

bool Rests(const JobState& job, WorkerId id) {
  return id < job.habits.size() && job.now < job.habits[id].rests_until;
}

}  // namespace motley
