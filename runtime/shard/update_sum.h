// SPDX-License-Identifier: Apache-2.0
// The sums of all shards as one: slices go to the shard that has their range, and what holds for
// the whole vector holds for all of its shards. Loop thread only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/aligned_memory.h"
#include "base/parallel.h"
#include "runtime/links/route.h"
#include "runtime/links/slicing.h"
#include "runtime/shard/step_sum.h"

namespace motley {

class UpdateSum {
 public:
  // `slice_length` is in floats. `keep_rows` is as in DecodeLimits. `wire` is how answers travel.
  UpdateSum(const Route& route, size_t slice_length, ParallelFor& parallel, bool keep_rows,
            WireFormat wire = WireFormat::kFloat32);
  // The same, formed in borrowed memory.
  UpdateSum(std::span<float> home, const Route& route, size_t slice_length, ParallelFor& parallel,
            bool keep_rows, WireFormat wire = WireFormat::kFloat32);

  // The sum once it is finished. Nobody else may touch it from OpenRows or OpenLists until then.
  std::span<float> values() { return home_; }

  // The ends of the shards' ranges of the vector.
  const std::vector<size_t>& ends() const { return ends_; }

  // The update starts, or starts again.
  void OpenRows(const std::shared_ptr<const CodeForm>& form);
  void OpenLists();
  const Slicing& cut() const { return cut_; }  // The cut of whole answers to the open update.

  // Memory for a slice. kResource when there is none.
  Status MakeRoom(size_t slice, AlignedVector& values) {
    return spare_.MakeRoom(values, cut_.size(slice));
  }
  void GiveBack(AlignedVector values) { spare_.GiveBack(std::move(values)); }

  // As StreamDecoder::AddSlice, with the slice's number in the whole answer.
  Result<StreamDecoder::Outcome> AddSlice(RowId row, size_t slice, AlignedVector& values,
                                          const Claim& claim, const Tally& tally);
  bool Spoiled(size_t slice) const { return Of(slice).decoder().spoiled(); }
  bool RowComplete(RowId row) const;
  bool Decodable() const;
  // Adds a whole vector over a list, cut into slices.
  void AddVector(std::vector<AlignedVector> slices, const Tally& tally);

  // An answer was computed with this version of the parameters.
  void SawVersion(uint64_t version) { oldest_ = std::min(oldest_, version); }
  uint64_t oldest_version() const { return oldest_; }  // Precondition: there is an answer.

  Status Finish();
  // As StreamDecoder::FinishApproximately, with the rows that are complete in all shards. All
  // shards weigh the same rows, so that the sum is one.
  Result<ApproximateDecoding> FinishApproximately(RowId rows);
  const Tally& tally() const { return sums_.front()->tally(); }  // As StepSum has it.
  double amplification() const;                                  // The largest of any shard.

 private:
  static constexpr uint64_t kNoVersion = UINT64_MAX;
  StepSum& Of(size_t slice) const { return *sums_[cut_.ShardOf(slice)]; }
  void MakeSums(const Route& route, size_t slice_length, ParallelFor& parallel, bool keep_rows);
  void Cut();

  AlignedVector own_;  // Empty if the memory is borrowed.
  const std::span<float> home_;
  const WireFormat wire_;
  std::vector<size_t> ends_;
  SpareSlices spare_;
  std::vector<std::unique_ptr<StepSum>> sums_;  // By shard.
  Slicing cut_;
  uint64_t oldest_ = kNoVersion;
};

// The sums of updates, made when they are needed and used again. Loop thread only.
class SumPool {
 public:
  using Make = std::function<std::shared_ptr<UpdateSum>()>;

  explicit SumPool(Make make) : make_(std::move(make)) {}

  // A sum that nobody else holds. kResource: there is no memory for one more.
  Result<std::shared_ptr<UpdateSum>> Take();

 private:
  const Make make_;
  std::vector<std::shared_ptr<UpdateSum>> sums_;  // All that were made.
};

}  // namespace motley
