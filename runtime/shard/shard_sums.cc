// SPDX-License-Identifier: Apache-2.0
#include "runtime/shard/shard_sums.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace motley {

void ShardSums::OpenRows(const std::shared_ptr<const CodeForm>& form) {
  for (StepSum* sum : sums_) sum->OpenRows(form);
  Cut();
}

void ShardSums::OpenLists() {
  for (StepSum* sum : sums_) sum->OpenLists();
  Cut();
}

// An answer is cut as its shards cut their parts of it.
void ShardSums::Cut() {
  std::vector<size_t> ends;
  for (const StepSum* sum : sums_) {
    ends.push_back((ends.empty() ? 0 : ends.back()) + sum->cut().total());
  }
  if (cut_.total() != ends.back()) cut_ = Slicing(std::move(ends), sums_.front()->cut().length());
}

Result<StreamDecoder::Outcome> ShardSums::AddSlice(RowId row, size_t slice, AlignedVector& values,
                                                   const Claim& claim, const Tally& tally) {
  const size_t shard = cut_.ShardOf(slice);
  return sums_[shard]->decoder().AddSlice(row, slice - cut_.first_slice(shard), values, claim,
                                          tally);
}

bool ShardSums::RowComplete(RowId row) const {
  return std::all_of(sums_.begin(), sums_.end(),
                     [row](StepSum* sum) { return sum->decoder().RowComplete(row); });
}

bool ShardSums::Decodable() const {
  return std::all_of(sums_.begin(), sums_.end(),
                     [](StepSum* sum) { return sum->decoder().Decodable(); });
}

void ShardSums::AddVector(std::vector<AlignedVector> slices, const Tally& tally) {
  for (size_t shard = 0; shard < sums_.size(); ++shard) {
    const auto begin = static_cast<std::ptrdiff_t>(cut_.first_slice(shard));
    const auto end = static_cast<std::ptrdiff_t>(cut_.first_slice(shard + 1));
    std::vector<AlignedVector> own(std::make_move_iterator(slices.begin() + begin),
                                   std::make_move_iterator(slices.begin() + end));
    sums_[shard]->AddVector(std::move(own), tally);
  }
}

Status ShardSums::Finish() {
  for (StepSum* sum : sums_) MOTLEY_RETURN_IF_ERROR(sum->Finish());
  return Status::Ok();
}

Result<ApproximateDecoding> ShardSums::FinishApproximately(RowId rows) {
  std::vector<bool> complete;
  for (RowId row = 0; row < rows; ++row) complete.push_back(RowComplete(row));
  Result<ApproximateDecoding> best = sums_.front()->FinishApproximately(complete);
  for (size_t shard = 1; shard < sums_.size() && best.ok(); ++shard) {
    best = sums_[shard]->FinishApproximately(complete);
  }
  return best;
}

double ShardSums::amplification() const {
  double largest = 0;
  for (const StepSum* sum : sums_) largest = std::max(largest, sum->amplification());
  return largest;
}

}  // namespace motley
