// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lease_watch.h"

#include <algorithm>

namespace motley {
namespace {

constexpr double kNew = 0.2;     // What one more measurement weighs,
constexpr double kFaster = 0.5;  // and one that shows a shorter time: delays only ever add to it.
constexpr double kMostSeconds = 3600;

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

void LeaseHabits::SawWait(double seconds) { Follow(seconds, waits++ == 0, wait); }

}  // namespace motley
