// SPDX-License-Identifier: Apache-2.0
// Measures how long the vector of each worker has been arriving. The time in which the worker had
// nothing to send, because it was computing the rest, does not count. Loop thread only.
#pragma once

#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "transport/wire/header.h"

namespace motley {

class TransferClock {
 public:
  explicit TransferClock(uint32_t workers) : coming_(workers) {}

  // The beginning of a slice arrived.
  void Began(WorkerId worker, const Header& slice, Time now) {
    Coming& coming = coming_[worker];
    if (coming.any && coming.step == slice.step && coming.row == slice.row_id) {
      if (slice.paused) coming.since += now - std::exchange(coming.last, now);
      return;
    }
    coming = {true, slice.step, slice.row_id, now, now};
  }
  // A slice arrived in whole.
  void Came(WorkerId worker, Time now) { coming_[worker].last = now; }
  // The whole vector arrived.
  Duration Ended(WorkerId worker, Time now) {
    Coming& coming = coming_[worker];
    const Duration took = coming.any ? now - coming.since : Duration::zero();
    coming.any = false;
    return took;
  }
  // The worker is gone. Another incarnation of it may send the same row.
  void Forget(WorkerId worker) { coming_[worker].any = false; }
  // A step opens. Earlier slices are of no use, and may be sent again under the same names.
  void Opened() { coming_.assign(coming_.size(), Coming()); }

 private:
  struct Coming {
    bool any = false;
    StepId step = 0;
    uint32_t row = 0;
    Time since{};
    Time last{};  // When the last slice was complete.
  };
  std::vector<Coming> coming_;
};

}  // namespace motley
