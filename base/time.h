// SPDX-License-Identifier: Apache-2.0
// Time as a Loop reports it: monotonic, in integer nanoseconds, virtual in the simulator.
#pragma once

#include <algorithm>
#include <chrono>

namespace motley {

using Duration = std::chrono::nanoseconds;

// A tag, not a clock: only a Loop knows the time.
struct LoopClock {
  using duration = Duration;
  using rep = Duration::rep;
  using period = Duration::period;
  static constexpr bool is_steady = true;
};

using Time = std::chrono::time_point<LoopClock, Duration>;

inline constexpr Time kNever = Time::max();

inline double ToSeconds(Duration d) { return std::chrono::duration<double>(d).count(); }
inline double ToSeconds(Time t) { return ToSeconds(t.time_since_epoch()); }

// Rounds to the nearest nanosecond. Values beyond a hundred years become a hundred years, so that a
// very long timeout does not overflow into the past, even when two are added.
inline Duration FromSeconds(double seconds) {
  constexpr double kMost = 100 * 365.25 * 86400;
  seconds = std::clamp(seconds, -kMost, kMost);
  return std::chrono::round<Duration>(std::chrono::duration<double>(seconds));
}

}  // namespace motley
