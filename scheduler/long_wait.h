// SPDX-License-Identifier: Apache-2.0
// When to report a long wait to the user: after five seconds, then after twice as long each time.
// Pure.
#pragma once

#include "base/time.h"

namespace motley {

class LongWait {
 public:
  void Restart(Time now) {
    since_ = now;
    limit_ = kFirst;
  }
  Duration Length(Time now) const { return now - since_; }
  Time Due() const { return since_ + limit_; }
  void Told(Time now) { limit_ = 2 * Length(now); }

 private:
  static constexpr Duration kFirst = std::chrono::seconds(5);

  Time since_{};
  Duration limit_ = kFirst;
};

}  // namespace motley
