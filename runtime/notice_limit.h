// SPDX-License-Identifier: Apache-2.0
// How often one worker's reports are repeated as notices, so that a broken one cannot fill the log.
// Loop thread only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time.h"

namespace motley {

class NoticeLimit {
 public:
  explicit NoticeLimit(uint32_t workers) : seats_(workers) {}

  // What to say of `text` from this worker: the first 8 as they are, then one in 10 s, with how
  // many were left out before it; nothing for the others. A worker that joins again begins where
  // the one before it in its seat was.
  std::optional<std::string> Pass(WorkerId worker, const std::string& text, Time now);

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
