// SPDX-License-Identifier: Apache-2.0
// How often one worker's reports are repeated as notices, so that a broken one cannot fill the log.
// Loop thread only.
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

  // Whether to show a report from this worker: the first 8, then one in 10 s, with how many were
  // left out before it; nothing for the others. A worker that joins again begins where the one
  // before it in its seat was.
  std::optional<uint64_t> Pass(WorkerId worker, Time now);

 private:
  struct Seat {
    double allowance = 0;  // Of notices, as of `when`.
    Time when{};
    uint64_t left_out = 0;
    bool any = false;
  };
  std::vector<Seat> seats_;
};

}  // namespace motley
