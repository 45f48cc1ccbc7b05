// SPDX-License-Identifier: Apache-2.0
// Whose data may still be on their way. Data and parameters pass the same link in order, so whoever
// answers what a later step asked of it has all that was sent before; until then, what its messages
// take says how long its data are, and not its link. Pure bookkeeping.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/time.h"

namespace motley {

class DataWatch {
 public:
  enum class Why {
    kNeeded,  // For work of the same step, which shows that they came.
    kCopies,  // Of use later, and so many that they are in the way of all.
    kFew,     // The same, but too few to be in the way of others.
  };
  // `due`: when they should have come, as far as that can be foreseen.
  void Sent(WorkerId worker, uint32_t partitions, StepId step, Why why, Time due = {});
  // It answered, with a whole vector, what it was asked in `step`.
  void Answered(WorkerId worker, StepId step);
  // It computed some of what it was asked in `step`, for which it needed its parameters.
  void Began(WorkerId worker, StepId step) {
    if (step > 0) Answered(worker, step - 1);
  }
  void Gone(WorkerId worker);

  // When `step` opens: whether anybody's are in the way of others. Whose never answer are
  // forgotten.
  bool InTheWay(StepId step) const;
  // Partitions; 0 when all that were sent are known to have come.
  uint32_t OnTheirWay(WorkerId worker) const {
    return worker < sent_.size() ? sent_[worker].on_their_way : 0;
  }
  // How long, from `now`, until all should have come.
  Duration Left(WorkerId worker, Time now) const {
    return OnTheirWay(worker) > 0 ? std::max(sent_[worker].due - now, Duration{}) : Duration{};
  }

 private:
  struct Data {
    uint32_t on_their_way = 0;
    bool of_others = false;  // In the way of others, too.
    StepId sent = 0;
    StepId shown = 0;  // An answer of this step or a later one shows that they came.
    Time due{};
  };
  std::vector<Data> sent_;
};

}  // namespace motley
