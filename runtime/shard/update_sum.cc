// SPDX-License-Identifier: Apache-2.0
#include "runtime/shard/update_sum.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/memory_need.h"

namespace motley {

UpdateSum::UpdateSum(const Route& route, size_t slice_length, ParallelFor& parallel, bool keep_rows,
                     WireFormat wire)
    : own_(route.end(route.shards() - 1)), home_(own_) {
  MakeRanges({route, 0, slice_length, wire, keep_rows, 0}, parallel);
}

UpdateSum::UpdateSum(std::span<float> home, const Route& route, size_t slice_length,
                     ParallelFor& parallel, bool keep_rows, WireFormat wire)
    : home_(home) {
  MakeRanges({route, 0, slice_length, wire, keep_rows, 0}, parallel);
}

void UpdateSum::MakeRanges(RangeAnswers::Shape shape, ParallelFor& parallel) {
  const Route& route = shape.route;
  for (shape.shard = 0; shape.shard < route.shards(); ++shape.shard) {
    ends_.push_back(route.end(shape.shard));
    const auto home = home_.subspan(route.begin(shape.shard), route.size(shape.shard));
    ranges_.push_back(
        std::make_unique<RangeAnswers>(shape, spare_, parallel, home, HooksOfRange()));
  }
}

RangeAnswers::Hooks UpdateSum::HooksOfRange() {
  Hooks hooks;
  hooks.arrived = [this](const Answer& answer) { Arrived(answer); };
  hooks.decodable = [this] {
    if (++decodable_ == ranges_.size()) hooks_.decodable();
  };
  hooks.refused = [this](const Answer& answer, bool touched, const Status& why) {
    hooks_.refused(answer, touched, why);
  };
  hooks.came = [this](const Answer& answer, bool added) { hooks_.came(answer, added); };
  return hooks;
}

// A row may have come from other workers in other shards.
void UpdateSum::Arrived(const Answer& answer) {
  const bool row = rows_ > 0;
  const auto key = std::tuple(row ? 0 : answer.worker, row ? 0 : answer.order, answer.row);
  if (++have_[key] == ranges_.size()) hooks_.arrived(answer);
}

void UpdateSum::Open(const Update& update, uint32_t attempt,
                     const std::shared_ptr<const CodeForm>& form, Hooks hooks, AnswerLog* log) {
  hooks_ = std::move(hooks);
  rows_ = form != nullptr ? form->workers : 0;
  have_.clear();
  decodable_ = 0;
  oldest_ = {};
  worker_.reset();
  several_ = false;
  for (const auto& range : ranges_) {
    range->SetLog(log);
    range->Open(update, attempt, form);
  }
}

void UpdateSum::Saw(WorkerId worker, uint64_t version, const ParameterCopy& values) {
  if (version < oldest_.number) oldest_ = {version, values};
  several_ = several_ || (worker_ && *worker_ != worker);
  worker_ = worker;
}

Result<bool> UpdateSum::Begin(WorkerId worker, const Header& header, Slice& slice) {
  if (header.shard < ranges_.size()) return ranges_[header.shard]->Begin(worker, header, slice);
  return Status::DataError(
      fmt::format("a slice of shard {}, where {} are", header.shard, ranges_.size()));
}

Status UpdateSum::Finish(WorkerId worker, Slice& slice) {
  return ranges_[slice.header.shard]->Finish(worker, slice);
}

Result<std::vector<double>> UpdateSum::Add(const Answer& vector) {
  std::vector<double> sketches;
  for (const auto& range : ranges_) {
    MOTLEY_ASSIGN_OR_RETURN(const RangeAnswers::Added own, range->Add(vector));
    sketches.insert(sketches.end(), own.sketches.begin(), own.sketches.end());
  }
  return sketches;
}

Status UpdateSum::EndSum() {
  for (const auto& range : ranges_) MOTLEY_RETURN_IF_ERROR(range->EndSum());
  return Status::Ok();
}

Result<ApproximateDecoding> UpdateSum::EndApproximately() {
  std::vector<bool> complete;
  for (RowId row = 0; row < rows_; ++row) {
    complete.push_back(std::all_of(ranges_.begin(), ranges_.end(),
                                   [row](const auto& range) { return range->Complete(row); }));
  }
  Result<ApproximateDecoding> best = ranges_.front()->EndSum(complete);
  for (size_t shard = 1; shard < ranges_.size() && best.ok(); ++shard) {
    best = ranges_[shard]->EndSum(complete);
  }
  return best;
}

double UpdateSum::amplification() const {
  double largest = 0;
  for (const auto& range : ranges_) largest = std::max(largest, range->amplification());
  return largest;
}

Result<std::shared_ptr<UpdateSum>> SumPool::Take() {
  for (const auto& sum : sums_) {
    if (sum.use_count() == 1) return sum;
  }
  return OrNoMemory("the sum of another update", [this]() -> Result<std::shared_ptr<UpdateSum>> {
    sums_.push_back(make_());
    return sums_.back();
  });
}

}  // namespace motley
