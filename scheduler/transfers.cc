// SPDX-License-Identifier: Apache-2.0
#include "scheduler/transfers.h"

#include <variant>

namespace motley {
namespace {

constexpr StepId kForgotten = 32;  // Steps after the last one that needed data.

}  // namespace

void Transfers::See(const Event& event, Time now) {
  link_.See(event, now, answer_part_);
  if (const auto* came = std::get_if<DataCame>(&event)) Came(*came, now);
}

void Transfers::StepOpens(StepId step) {
  in_the_way_ = std::any_of(data_.begin(), data_.end(), [&](const Data& data) {
    return data.needed > 0 && step <= data.sent + kForgotten;
  });
}

void Transfers::Sent(WorkerId worker, const std::vector<PartitionId>& partitions, StepId step,
                     Why why, Time now, Duration takes) {
  if (worker >= data_.size()) data_.resize(worker + 1);
  Data& data = data_[worker];
  for (const PartitionId p : partitions) data.coming[p] = why;
  if (why == Why::kCopies) return;
  data.due = now + Left(worker, now) + takes;
  data.each = takes / std::max<size_t>(1, partitions.size());
  if (data.needed == 0) {
    data.first_came.reset();
    data.since_first = 0;
  }
  data.needed += static_cast<uint32_t>(partitions.size());
  data.sent = step;
  in_the_way_ = true;
}

void Transfers::Came(const DataCame& event, Time now) {
  if (event.worker >= data_.size()) return;
  Data& data = data_[event.worker];
  for (const PartitionId p : event.partitions) {
    const auto found = data.coming.find(p);
    if (found == data.coming.end()) continue;
    data.came = now;
    if (found->second == Why::kNeeded) {
      --data.needed;
      data.needed_came = now;
      if (!data.first_came) data.first_came = now;
      if (now > *data.first_came) ++data.since_first;
    }
    data.coming.erase(found);
  }
}

void Transfers::Gone(WorkerId worker) {
  if (worker < data_.size()) data_[worker] = {};
}

const Transfers::Coming& Transfers::ComingTo(WorkerId worker) const {
  static const Coming kNothing;
  return worker < data_.size() ? data_[worker].coming : kNothing;
}

uint32_t Transfers::CopiesTo(WorkerId worker) const {
  if (worker >= data_.size()) return 0;
  return static_cast<uint32_t>(data_[worker].coming.size()) - data_[worker].needed;
}

uint32_t Transfers::InFront(WorkerId worker) const {
  if (worker >= data_.size()) return 0;
  return data_[worker].needed + std::min(1U, CopiesTo(worker));
}

Duration Transfers::Left(WorkerId worker, Time now) const {
  if (worker >= data_.size() || data_[worker].needed == 0) return {};
  const Data& data = data_[worker];
  Time due = data.due;
  // How long the first ones waited shows no rate.
  if (data.first_came) due = std::max(due, *data.first_came + data.each * data.needed);
  if (data.since_first > 0) {
    const Duration each = (data.needed_came - *data.first_came) / data.since_first;
    due = data.needed_came + each * data.needed;
  }
  return std::max(due - now, Duration{});
}

bool Transfers::Delayed(WorkerId worker, Time since) const {
  if (worker >= data_.size()) return false;
  const Data& data = data_[worker];
  return !data.coming.empty() || data.came >= since;
}

}  // namespace motley
