// SPDX-License-Identifier: Apache-2.0
#include "scheduler/transfers.h"

#include <variant>

namespace motley {

void Transfers::SeeAnswer(const Event& event) {
  if (const auto* row = std::get_if<RowArrived>(&event)) data_.Answered(row->worker, row->step);
  if (const auto* late = std::get_if<RowLate>(&event)) data_.Answered(late->worker, late->step);
  if (const auto* sum = std::get_if<LeaseVector>(&event)) data_.Answered(sum->worker, sum->step);
}

void Transfers::Sent(WorkerId worker, uint32_t partitions, StepId step, DataWatch::Why why,
                     Time due) {
  data_.Sent(worker, partitions, step, why, due);
  in_the_way_ = in_the_way_ || why != DataWatch::Why::kFew;
}

}  // namespace motley
