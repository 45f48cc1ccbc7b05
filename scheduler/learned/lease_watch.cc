// SPDX-License-Identifier: Apache-2.0
#include "scheduler/learned/lease_watch.h"

#include <algorithm>
#include <cmath>

namespace motley {
namespace {

constexpr double kNew = 0.2;     // What one more measurement weighs,
constexpr double kFaster = 0.5;  // and one that shows a shorter time: delays only ever add to it.
constexpr double kMostSeconds = 3600;
// A worker that holds a step up by what it does not deliver rests for so many times as long, which
// bounds what it costs, and twice as long each time in a row.
constexpr double kRest = 8;
constexpr double kForgotten = 0.9;  // What a vector that comes leaves of those that did not.
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
