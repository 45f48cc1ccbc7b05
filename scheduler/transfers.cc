// SPDX-License-Identifier: Apache-2.0
#include "scheduler/transfers.h"

#include <variant>

namespace motley {
namespace {

constexpr StepId kForgotten = 32;  // This many steps without an answer.

}  // namespace

void Transfers::SeeAnswer(const Event& event) {
  if (const auto* row = std::get_if<RowArrived>(&event)) Answered(row->worker, row->step);
  if (const auto* late = std::get_if<RowLate>(&event)) Answered(late->worker, late->step);
  if (const auto* sum = std::get_if<LeaseVector>(&event)) Answered(sum->worker, sum->step);
}

void Transfers::StepOpens(StepId step) {
  in_the_way_ = std::any_of(sent_.begin(), sent_.end(), [&](const Data& data) {
    return data.on_their_way > 0 && data.of_others && step <= data.sent + kForgotten;
  });
}

void Transfers::Sent(WorkerId worker, uint32_t partitions, StepId step, Why why, Time due) {
  if (worker >= sent_.size()) sent_.resize(worker + 1);
  Data& data = sent_[worker];
  data.on_their_way += partitions;
  data.of_others = data.of_others || why != Why::kFew;
  data.sent = step;
  data.due = due;
  data.shown = std::max(data.shown, why == Why::kNeeded ? step : step + 1);
  in_the_way_ = in_the_way_ || why != Why::kFew;
}

void Transfers::Answered(WorkerId worker, StepId step) {
  if (OnTheirWay(worker) > 0 && step >= sent_[worker].shown) sent_[worker] = {};
}

void Transfers::Gone(WorkerId worker) {
  if (worker < sent_.size()) sent_[worker] = {};
}

}  // namespace motley
