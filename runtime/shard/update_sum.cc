// SPDX-License-Identifier: Apache-2.0
#include "runtime/shard/update_sum.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "runtime/memory_need.h"

namespace motley {

UpdateSum::UpdateSum(const Route& route, size_t slice_length, ParallelFor& parallel, bool keep_rows,
                     WireFormat wire)
    : own_(route.end(route.shards() - 1)), home_(own_), wire_(wire) {
  MakeSums(route, slice_length, parallel, keep_rows);
}

UpdateSum::UpdateSum(std::span<float> home, const Route& route, size_t slice_length,
                     ParallelFor& parallel, bool keep_rows, WireFormat wire)
    : home_(home), wire_(wire) {
  MakeSums(route, slice_length, parallel, keep_rows);
}

void UpdateSum::MakeSums(const Route& route, size_t slice_length, ParallelFor& parallel,
                         bool keep_rows) {
  DecodeLimits limits{.keep_rows = keep_rows};
  limits.waiting_bytes /= route.shards();  // The limit is that of the whole vector.
  for (size_t shard = 0; shard < route.shards(); ++shard) {
    ends_.push_back(route.end(shard));
    sums_.push_back(
        std::make_unique<StepSum>(route.size(shard), slice_length, parallel, limits, spare_));
    sums_.back()->SetHome(home_.subspan(route.begin(shard), route.size(shard)));
  }
}

void UpdateSum::OpenRows(const std::shared_ptr<const CodeForm>& form) {
  spare_.Limit(form->workers);
  for (const auto& sum : sums_) sum->OpenRows(form);
  Cut();
}

void UpdateSum::OpenLists() {
  spare_.Limit(SIZE_MAX);
  for (const auto& sum : sums_) sum->OpenLists();
  Cut();
}

// An answer is cut as its shards cut their parts of it.
void UpdateSum::Cut() {
  oldest_ = kNoVersion;
  std::vector<size_t> ends;
  for (const auto& sum : sums_) {
    ends.push_back((ends.empty() ? 0 : ends.back()) + sum->cut().total());
  }
  if (cut_.total() == ends.back()) return;
  cut_ = Slicing(std::move(ends), sums_.front()->cut().length(), wire_);
}

Result<StreamDecoder::Outcome> UpdateSum::AddSlice(RowId row, size_t slice, AlignedVector& values,
                                                   const Claim& claim, const Tally& tally) {
  const size_t shard = cut_.ShardOf(slice);
  return sums_[shard]->decoder().AddSlice(row, slice - cut_.first_slice(shard), values, claim,
                                          tally);
}

bool UpdateSum::RowComplete(RowId row) const {
  return std::all_of(sums_.begin(), sums_.end(),
                     [row](const auto& sum) { return sum->decoder().RowComplete(row); });
}

bool UpdateSum::Decodable() const {
  return std::all_of(sums_.begin(), sums_.end(),
                     [](const auto& sum) { return sum->decoder().Decodable(); });
}

void UpdateSum::AddVector(std::vector<AlignedVector> slices, const Tally& tally) {
  for (size_t shard = 0; shard < sums_.size(); ++shard) {
    const auto begin = static_cast<std::ptrdiff_t>(cut_.first_slice(shard));
    const auto end = static_cast<std::ptrdiff_t>(cut_.first_slice(shard + 1));
    std::vector<AlignedVector> own(std::make_move_iterator(slices.begin() + begin),
                                   std::make_move_iterator(slices.begin() + end));
    sums_[shard]->AddVector(std::move(own), tally);
  }
}

Status UpdateSum::Finish() {
  for (const auto& sum : sums_) MOTLEY_RETURN_IF_ERROR(sum->Finish());
  return Status::Ok();
}

Result<ApproximateDecoding> UpdateSum::FinishApproximately(RowId rows) {
  std::vector<bool> complete;
  for (RowId row = 0; row < rows; ++row) complete.push_back(RowComplete(row));
  Result<ApproximateDecoding> best = sums_.front()->FinishApproximately(complete);
  for (size_t shard = 1; shard < sums_.size() && best.ok(); ++shard) {
    best = sums_[shard]->FinishApproximately(complete);
  }
  return best;
}

double UpdateSum::amplification() const {
  double largest = 0;
  for (const auto& sum : sums_) largest = std::max(largest, sum->amplification());
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
