// SPDX-License-Identifier: Apache-2.0
#include "scheduler/learned/lease_watch.h"

#include <algorithm>
#include <cmath>

namespace motley {
namespace {

constexpr double kNew = 0.2;  // Weight of a new measurement.
// Weight of a measurement that shows a shorter time, because delays only ever add to it.
constexpr double kFaster = 0.5;
constexpr double kMostSeconds = 3600;
// A worker that holds a step up by not delivering rests for this many times as long, which bounds
// its cost, and twice as long after each further failure in a row.
constexpr double kRest = 8;
constexpr double kForgotten = 0.9;  // Weight of the failures so far after each vector that comes.
constexpr double kMostDoublings = 10;
constexpr double kLongestRest = 300;

void Follow(double seconds, bool first, double& learned) {
  seconds = std::clamp(seconds, 0.0, kMostSeconds);
  if (first) {
    learned = seconds;
  } else {
    learned += (seconds < learned ? kFaster : kNew) * (seconds - learned);
  }
}

}  // namespace

void LeaseHabits::SawRoundTrip(double seconds, StepId step, bool waited_for_data) {
  if (waited_for_data && round_trips > 0) return;
  const bool first = round_trips++ == 0 || (behind_data && !waited_for_data);
  behind_data = waited_for_data;
  round_trip_in = step;
  Follow(seconds / 2, first, latency);
}

void LeaseHabits::SawOverhead(double seconds) { Follow(seconds, overheads++ == 0, overhead); }

void LeaseHabits::SawChunk(double partitions) {
  chunk = std::max(1.0, chunk + kNew * (partitions - chunk));
}

void LeaseHabits::SawVector(double seconds, bool waited_for_data) {
  if (waited_for_data && vectors > 0) return;
  const bool first = vectors++ == 0 || (vector_behind_data && !waited_for_data);
  vector_behind_data = waited_for_data;
  Follow(seconds, first, message);
}

void LeaseHabits::SawVectorCome() {
  delivered = true;
  missed *= kForgotten;
}

void LeaseHabits::Missed(Duration held, Time now) {
  if (missed >= 1) {
    const double spell = kRest * std::exp2(std::min(missed - 1, kMostDoublings)) * ToSeconds(held);
    rests_until = now + FromSeconds(std::min(spell, kLongestRest));
  }
  missed += 1;
}

void LeaseHabits::SawWait(double seconds) {
  const bool first = waits++ == 0;
  if (!first)
    wait_spread += kNew * (std::min(std::abs(seconds - wait), kMostSeconds) - wait_spread);
  Follow(seconds, first, wait);
}

}  // namespace motley
