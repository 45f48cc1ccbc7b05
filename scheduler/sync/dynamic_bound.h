// SPDX-License-Identifier: Apache-2.0
// How far the fastest worker may run ahead beyond the lower bound of dynamic stale synchronous
// parallel training (Zhao, An, Liu, Chen: ICDCS 2019, arXiv 1908.11848). Pure.
//
// The worker would wait until the slowest one has another update applied. It may be better to do a
// few more updates and to wait later, because a wait is shortest if it begins just before the
// slowest worker's update is applied. So the next updates of both are predicted from the time that
// the last update of each took, and the worker gets the number of extra updates after which its
// update comes nearest to one of the slowest:
//
//   updates of 1 s end in 0 1 2 3 s, and the slowest worker's updates of 4 s in 1.1 5.1 s:
//   1 extra update, because 1 s is nearest to 1.1 s
//
// The paper takes the time from push to push. Here it is the time from opening to application, so
// that waiting is not taken for work.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/time.h"

namespace motley {

class DynamicBound {
 public:
  // Longer runs of extra updates are not looked for.
  static constexpr uint64_t kMostExtra = 1024;

  // A worker that is at most `low` ahead never needs extra updates, so that at most high - low
  // extra updates fit.
  DynamicBound(uint32_t workers, uint32_t low, uint32_t high);

  // The worker counts again, and has no extra updates.
  void Enters(WorkerId worker) { paces_[worker].until = 0; }
  void Opened(WorkerId worker, Time now);
  void Applied(WorkerId worker, Time now);
  // The worker's last update was applied now, and it has done `own` updates. `slowest` are the
  // workers with the fewest. It may do extra updates from here on. Does nothing if it still has
  // some, or if the times are not known.
  void Extend(WorkerId worker, uint64_t own, const std::vector<WorkerId>& slowest, Time now);
  // A worker that has done `own` updates may begin one more, however far ahead it is.
  bool Extra(WorkerId worker, uint64_t own) const { return own < paces_[worker].until; }

 private:
  struct Pace {
    std::optional<Time> opened;      // The update that is not applied yet.
    std::optional<Duration> length;  // What the last one took.
    uint64_t until = 0;              // It has extra updates while it has done fewer than this.
  };

  std::optional<Time> NextOf(WorkerId worker, Time now) const;

  const uint64_t most_extra_;
  std::vector<Pace> paces_;  // By worker.
};

}  // namespace motley
