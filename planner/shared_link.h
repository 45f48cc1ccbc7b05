// SPDX-License-Identifier: Apache-2.0
// A link that concurrent senders share evenly, on virtual time. The step model uses it for the
// server's link. The link has its own clock, which runs slower the more senders share it. A vector
// that needs t seconds of the link alone is through when this clock has advanced by t. Pure.
//
// Example: a vector that needs 2 s begins at time 0, and another at time 1. They share the link
// from time 1 on. The first is through at time 3, when the other has had 1 s, and the other at time
// 4.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/ids.h"

namespace motley {

struct Passing {
  double end;  // On the clock of the link.
  uint64_t order;
  WorkerId worker;
  uint32_t entries;
  double began, own_end;

  bool operator>(const Passing& other) const {
    return end != other.end ? end > other.end : order > other.order;
  }
};

class SharedLink {
 public:
  // Advances the clock to `now`, which never goes back. Call it before the functions below.
  void Turn(double now) {
    if (!passing_.empty()) {
      busy_ += now - turned_;
      clock_ += (now - turned_) / static_cast<double>(passing_.size());
    }
    turned_ = now;
  }
  double clock() const { return clock_; }
  double busy_seconds() const { return busy_; }

  void Add(const Passing& passing) {
    passing_.push_back(passing);
    std::push_heap(passing_.begin(), passing_.end(), std::greater<>());
  }
  bool empty() const { return passing_.empty(); }
  // When the next vector is through if no other comes. Precondition: not empty.
  double NextEnd() const {
    const double left = std::max(0.0, passing_.front().end - clock_);
    return turned_ + left * static_cast<double>(passing_.size());
  }
  Passing TakeNext() {
    std::pop_heap(passing_.begin(), passing_.end(), std::greater<>());
    const Passing next = passing_.back();
    passing_.pop_back();
    return next;
  }

 private:
  std::vector<Passing> passing_;  // A heap with the next one in front.
  double clock_ = 0, turned_ = 0;
  double busy_ = 0;
};

}  // namespace motley
