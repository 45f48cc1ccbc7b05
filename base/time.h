// SPDX-License-Identifier: Apache-2.0
// Time as a Loop tells it: monotonic, in integer nanoseconds, virtual in the simulator.
#pragma once

#include <chrono>

namespace motley {

using Duration = std::chrono::nanoseconds;

// A tag, not a clock: only a Loop knows what time it is.
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

// Nearest nanosecond; `seconds` is finite and under 290 years.
inline Duration FromSeconds(double seconds) {
  return std::chrono::round<Duration>(std::chrono::duration<double>(seconds));
}

}  // namespace motley
