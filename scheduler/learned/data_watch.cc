// SPDX-License-Identifier: Apache-2.0
#include "scheduler/learned/data_watch.h"

#include <algorithm>

namespace motley {
namespace {

constexpr StepId kForgotten = 32;  // This many steps without an answer.

}  // namespace

void DataWatch::Sent(WorkerId worker, uint32_t partitions, StepId step, Why why, Time due) {
  if (worker >= sent_.size()) sent_.resize(worker + 1);
  Data& data = sent_[worker];
  data.on_their_way += partitions;
  data.of_others = data.of_others || why != Why::kFew;
  data.sent = step;
  data.due = due;
  data.shown = std::max(data.shown, why == Why::kNeeded ? step : step + 1);
}

void DataWatch::Answered(WorkerId worker, StepId step) {
  if (OnTheirWay(worker) > 0 && step >= sent_[worker].shown) sent_[worker] = {};
}

void DataWatch::Gone(WorkerId worker) {
  if (worker < sent_.size()) sent_[worker] = {};
}

bool DataWatch::InTheWay(StepId step) const {
  return std::any_of(sent_.begin(), sent_.end(), [&](const Data& data) {
    return data.on_their_way > 0 && data.of_others && step <= data.sent + kForgotten;
  });
}

}  // namespace motley
