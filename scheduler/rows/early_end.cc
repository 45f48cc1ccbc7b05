// SPDX-License-Identifier: Apache-2.0
#include "scheduler/rows/early_end.h"

#include <algorithm>
#include <utility>

namespace motley {

namespace {

constexpr uint32_t kMostMissed = 3;  // Steps in a row.

}  // namespace

void EarlyEnd::Open(std::shared_ptr<const CodeForm> code, Time now) {
  if (!wanted_) return;
  code_ = std::move(code);
  const auto rows = static_cast<uint32_t>(std::count_if(
      code_->rows.begin(), code_->rows.end(), [](const auto& row) { return !row.empty(); }));
  // All rows but s decode exactly.
  enough_ = quorum_ > 0 ? std::min(quorum_, rows) : rows - std::min(code_->stragglers, rows - 1);
  rows_there_ = 0;
  due_ = deadline_ > Duration::zero() ? now + deadline_ : kNever;
  missed_.resize(code_->partitions, 0);
  covered_.assign(code_->partitions, false);
  owed_ = static_cast<uint32_t>(std::count_if(missed_.begin(), missed_.end(), Owed));
}

bool EarlyEnd::Owed(uint32_t missed) { return missed >= kMostMissed; }

void EarlyEnd::RowArrived(RowId row) {
  if (!wanted_) return;
  ++rows_there_;
  for (const CodeEntry& entry : code_->rows[row]) {
    if (covered_[entry.partition]) continue;
    covered_[entry.partition] = true;
    owed_ -= Owed(missed_[entry.partition]) ? 1 : 0;
  }
}

void EarlyEnd::Close(bool approximately) {
  for (PartitionId p = 0; p < missed_.size(); ++p) {
    missed_[p] = approximately && !covered_[p] ? missed_[p] + 1 : 0;
  }
}

void EarlyEnd::AllOverdue(Time now, Duration patience) {
  if (due_ == kNever && any()) due_ = now + patience;
}

bool EarlyEnd::Enough(Time now, bool at_work) const {
  if (!wanted_ || !any()) return false;
  return (rows_there_ >= enough_ && owed_ == 0) || !at_work || now >= due_;
}

}  // namespace motley
