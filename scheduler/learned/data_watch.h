// SPDX-License-Identifier: Apache-2.0
// Tracks the workers whose data may still be on their way. Data and parameters pass the same link
// in order, so a worker that answers a later step has all data sent before that step. Until then,
// the time that its messages take shows how long its data take, and says nothing about its link.
// Pure bookkeeping.
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
    kNeeded,  // Work of the same step needs them, and its answer shows that they came.
    kCopies,  // Useful later, and so many that they are in the way of all.
    kFew,     // Useful later, but too few to be in the way of others.
  };
  // `due` is the predicted time of arrival.
  void Sent(WorkerId worker, uint32_t partitions, StepId step, Why why, Time due = {});
  // The worker answered its work of `step` with a whole vector.
  void Answered(WorkerId worker, StepId step);
  // The worker computed some of its work of `step`, which needs the step's parameters.
  void Began(WorkerId worker, StepId step) {
    if (step > 0) Answered(worker, step - 1);
  }
  void Gone(WorkerId worker);

  // Called when `step` opens: true if some data are in the way of other workers. Data of workers
  // that never answer are forgotten.
  bool InTheWay(StepId step) const;
  // Partitions; 0 when all that were sent are known to have come.
  uint32_t OnTheirWay(WorkerId worker) const {
    return worker < sent_.size() ? sent_[worker].on_their_way : 0;
  }
  // Time from `now` until all should have come.
  Duration Left(WorkerId worker, Time now) const {
    return OnTheirWay(worker) > 0 ? std::max(sent_[worker].due - now, Duration{}) : Duration{};
  }

 private:
  struct Data {
    uint32_t on_their_way = 0;
    bool of_others = false;  // The data are in the way of others, too.
    StepId sent = 0;
    StepId shown = 0;  // An answer to this step or a later one shows that they came.
    Time due{};
  };
  std::vector<Data> sent_;
};

}  // namespace motley
