// SPDX-License-Identifier: Apache-2.0
// The sums of all shards as one: slices go to the shard that has their range, and what holds for
// the whole vector holds for all of its shards. Loop thread only.
#pragma once

#include <vector>

#include "runtime/links/slicing.h"
#include "runtime/shard/step_sum.h"

namespace motley {

class ShardSums {
 public:
  // `sums` are in the order of their ranges, at least one. They are borrowed.
  explicit ShardSums(std::vector<StepSum*> sums) : sums_(std::move(sums)) {}

  // A step starts, or starts again.
  void OpenRows(const std::shared_ptr<const CodeForm>& form);
  void OpenLists();
  const Slicing& cut() const { return cut_; }  // The cut of whole answers to the open step.

  // As StepSum does for the slice's shard.
  Status MakeRoom(size_t slice, AlignedVector& values) {
    return Of(slice).MakeRoom(values, cut_.size(slice));
  }
  void GiveBack(size_t slice, AlignedVector values) { Of(slice).GiveBack(std::move(values)); }

  // As StreamDecoder::AddSlice, with the slice's number in the whole answer.
  Result<StreamDecoder::Outcome> AddSlice(RowId row, size_t slice, AlignedVector& values,
                                          const Claim& claim, const Tally& tally);
  bool Spoiled(size_t slice) const { return Of(slice).decoder().spoiled(); }
  bool RowComplete(RowId row) const;
  bool Decodable() const;
  // Adds a whole vector over a list, cut into slices.
  void AddVector(std::vector<AlignedVector> slices, const Tally& tally);

  // Leaves the sums in their homes.
  Status Finish();
  // As StreamDecoder::FinishApproximately, with the rows that are complete in all shards. All
  // shards weigh the same rows, so that the sum is one.
  Result<ApproximateDecoding> FinishApproximately(RowId rows);
  const Tally& tally() const { return sums_.front()->tally(); }
  double amplification() const;  // The largest of any shard.

 private:
  StepSum& Of(size_t slice) const { return *sums_[cut_.ShardOf(slice)]; }
  void Cut();

  const std::vector<StepSum*> sums_;
  Slicing cut_;
};

}  // namespace motley
