// SPDX-License-Identifier: Apache-2.0
// Limits how often one worker's reports become notices, so that a broken worker cannot fill the
// log. Loop thread only.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/time.h"

namespace motley {

class NoticeLimit {
 public:
  explicit NoticeLimit(uint32_t workers) : seats_(workers) {}

  // Returns a value if a report from this worker should be shown: the first 8, then one in 10 s.
  // The value is the number of reports that were left out before it. A worker that joins again
  // continues the count of its seat.
  std::optional<uint64_t> Pass(WorkerId worker, Time now);

 private:
  struct Seat {
    double allowance = 0;  // Notices that may be shown, as of `when`.
    Time when{};
    uint64_t left_out = 0;
    bool any = false;
  };
  std::vector<Seat> seats_;
};

}  // namespace motley
