// SPDX-License-Identifier: Apache-2.0
// When the next turn begins, if workers take turns at the server (R2SP: Chen, Wang, Li, INFOCOM
// 2019). Turns begin evenly: the gap between two of them is nearly the measured cycle, divided by
// the number of workers. So workers do not ask for parameters, and do not send their vectors, all
// at once.
//
//   eight workers need 80 ms from the beginning of an update until it is applied: a turn begins 9
//   ms after the one before at the earliest, and a vector of 8 ms has the server's link for itself
//
// The cycle is that of the slowest worker, for whose turn the others wait. Its time is the shortest
// of its last ones, so one pause does not slow down the turns that follow it. A worker's first
// update does not count, because it also takes the time for data and kernels. A gap that is too
// short costs nothing but evenness. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/time.h"

namespace motley {

class EvenTurns {
 public:
  // Times vary, and a turn that begins late delays those behind it. So the gap leaves some room.
  static constexpr double kGap = 0.9;
  static constexpr size_t kRecent = 4;  // Updates of a worker that are remembered.

  explicit EvenTurns(uint32_t workers) : paces_(workers) {}

  void Opened(WorkerId worker, Time now);
  void Applied(WorkerId worker, Time now);
  // No turn of these workers begins before this time.
  Time Next(const std::vector<WorkerId>& workers) const;

 private:
  struct Pace {
    std::optional<Time> opened;               // The update that is not applied yet.
    bool begun = false;                       // Its first update was applied.
    std::array<Duration, kRecent> lengths{};  // A ring.
    size_t measured = 0;
  };

  std::vector<Pace> paces_;  // By worker.
  Time last_ = Time::min();  // When the last turn began.
};

}  // namespace motley
