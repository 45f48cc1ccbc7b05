// SPDX-License-Identifier: Apache-2.0
// Measures how long the vectors of a worker take to arrive. The time in which the worker had
// nothing to send, because it was computing the rest, does not count. Loop thread only.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>

#include "base/ids.h"
#include "base/time.h"
#include "transport/wire/header.h"

namespace motley {

class TransferClock {
 public:
  // The rest of a vector behind its first slice. When that one was sent is not known here.
  struct Rest {
    uint64_t bytes = 0;
    Duration time{};
  };

  // The beginning of a slice arrived.
  void Began(const Header& slice, Time now) {
    if (any_ && step_ == slice.step && order_ == slice.row_id) {
      if (slice.paused) since_ += now - std::exchange(last_, now);
      return;
    }
    any_ = true;
    step_ = slice.step;
    order_ = slice.row_id;
    since_ = last_ = now;
    left_ = 0;
  }
  // A slice arrived in whole. Returns the rest of its vector if it is the last one.
  std::optional<Rest> Came(const Header& slice, Time now) {
    if (left_ == 0) {  // The first slice of a vector.
      left_ = slice.total;
      rest_ = {};
    } else if (!slice.paused) {  // Otherwise the slice came later than it could have.
      rest_.time += now - last_;
      rest_.bytes += kHeaderSize + slice.length;
    }
    last_ = now;
    left_ -= std::min<uint64_t>(left_, slice.length / sizeof(float));
    if (left_ > 0 || rest_.bytes == 0) return std::nullopt;
    return std::exchange(rest_, {});
  }
  // The whole vector arrived. The time counts from its first byte; zero if that is not known.
  Duration Ended(Time now) {
    const Duration took = any_ ? now - since_ : Duration::zero();
    any_ = false;
    return took;
  }
  // A step opens. Earlier slices are of no use, and may be sent again under the same names.
  void Opened() { *this = TransferClock(); }

 private:
  bool any_ = false;  // A vector is arriving.
  StepId step_ = 0;
  uint32_t order_ = 0;
  Time since_{};       // When its first byte arrived, without pauses.
  Time last_{};        // When its last slice so far was complete.
  uint64_t left_ = 0;  // Floats that have not arrived.
  Rest rest_;
};

}  // namespace motley
