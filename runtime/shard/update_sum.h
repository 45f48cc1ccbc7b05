// SPDX-License-Identifier: Apache-2.0
// The sums of all shards as one: slices go to the shard that has their range, and what holds for
// the whole vector holds for all of its shards. Loop thread only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "base/aligned_memory.h"
#include "base/parallel.h"
#include "runtime/links/route.h"
#include "runtime/links/slicing.h"
#include "runtime/shard/publisher.h"
#include "runtime/shard/range_answers.h"

namespace motley {

class UpdateSum {
 public:
  using Answer = RangeAnswers::Answer;
  using Slice = RangeAnswers::Slice;
  using Hooks = RangeAnswers::Hooks;

  // `slice_length` is in floats. `keep_rows` is as in DecodeLimits. `wire` is how answers travel.
  UpdateSum(const Route& route, size_t slice_length, ParallelFor& parallel, bool keep_rows,
            WireFormat wire = WireFormat::kFloat32);
  // The same, formed in borrowed memory.
  UpdateSum(std::span<float> home, const Route& route, size_t slice_length, ParallelFor& parallel,
            bool keep_rows, WireFormat wire = WireFormat::kFloat32);

  // The sum once it has ended. Nobody else may touch it from Open until then.
  std::span<float> values() { return home_; }

  // The ends of the shards' ranges of the vector.
  const std::vector<size_t>& ends() const { return ends_; }

  // The update starts, or starts again, with rows of `form`, or with lists if it is null. The hooks
  // `arrived` and `decodable` run when they hold for all shards. `log` (may be null) is borrowed.
  void Open(const Update& update, uint32_t attempt, const std::shared_ptr<const CodeForm>& form,
            Hooks hooks, AnswerLog* log);
  // The cut of whole answers to the open update.
  const Slicing& cut() const { return ranges_.front()->cut(); }

  // As in RangeAnswers.
  Result<bool> Begin(WorkerId worker, const Header& header, Slice& slice);
  Status Finish(WorkerId worker, Slice& slice);
  Result<std::vector<double>> Add(const Answer& vector);
  Status EndSum();
  // The best sum of the rows that are complete in all shards. All shards weigh the same rows, so
  // that the sum is one.
  Result<ApproximateDecoding> EndApproximately();

  // The worker computes an answer with this version of the parameters; `values` may be null.
  void Saw(WorkerId worker, uint64_t version, const ParameterCopy& values = nullptr);
  uint64_t oldest_version() const { return oldest_.number; }  // Precondition: there is an answer.
  // The values of that version, which are given up; null: nobody gave them.
  ParameterCopy TakeOldest() { return std::move(oldest_.values); }

  // The worker that computed all answers; none if there were several.
  std::optional<WorkerId> worker() const { return several_ ? std::nullopt : worker_; }

  const Tally& tally() const { return ranges_.front()->tally(); }  // As StepSum has it.
  double amplification() const;                                    // The largest of any shard.

 private:
  static constexpr uint64_t kNoVersion = UINT64_MAX;
  void MakeRanges(RangeAnswers::Shape shape, ParallelFor& parallel);
  RangeAnswers::Hooks HooksOfRange();
  void Arrived(const Answer& answer);

  AlignedVector own_;  // Empty if the memory is borrowed.
  const std::span<float> home_;
  std::vector<size_t> ends_;
  Hooks hooks_;
  SpareSlices spare_;
  std::vector<std::unique_ptr<RangeAnswers>> ranges_;  // By shard.
  RowId rows_ = 0;                                     // The open update has so many; 0: lists.
  // The number of shards that have a row, or a vector of a list: worker, order and number.
  std::map<std::tuple<WorkerId, uint32_t, uint32_t>, size_t> have_;
  size_t decodable_ = 0;  // The number of shards that decode.
  struct {
    uint64_t number = kNoVersion;
    ParameterCopy values;
  } oldest_;  // The oldest version of an answer.
  std::optional<WorkerId> worker_;
  bool several_ = false;
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
