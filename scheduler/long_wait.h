// SPDX-License-Identifier: Apache-2.0
// When to tell people that something is waited for: after five seconds, then after twice as long
// each time. Pure.
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
