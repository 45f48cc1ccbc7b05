// SPDX-License-Identifier: Apache-2.0
// Forms the sum of a step, or of a shard's range of it. It decodes rows of a code slice by slice as
// they come, and adds up whole vectors over lists. Its only checks are the decoder's; Answers
// decides which answers count. Loop thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/aligned_memory.h"
#include "coding/decode/stream_decoder.h"
#include "runtime/links/slicing.h"

namespace motley {

struct SlicesCame {  // The slices of an answer that have arrived.
  std::vector<bool> seen;
  size_t count = 0;
  std::optional<Tally> tally;  // The tally that all slices declare.

  void Start(size_t slices);
  void Add(size_t slice);
  // kDataError: the slice declares another tally than the others, or (if it may not) comes again.
  Status Check(size_t slice, const Tally& tally, bool once) const;
};

// Buffers for slices that arrive, used again. The last one given back goes first, because it is
// still in the cache; through shared memory, slices come one at a time. Loop thread only.
class SpareSlices {
 public:
  // Slices of rows are used as they arrive, so `most` are kept for them: one for each worker.
  // Slices of lists wait for the rest of their vector, so all of their memory is kept.
  void Limit(size_t most) { most_ = most; }

  // Takes memory for a slice. kResource when there is none.
  Status MakeRoom(AlignedVector& values, size_t size);
  void GiveBack(AlignedVector values);

 private:
  std::vector<AlignedVector> spare_;
  size_t most_ = SIZE_MAX;
};

class StepSum {
 public:
  // `length` and `slice_length` are in floats. `spare` is borrowed.
  StepSum(size_t length, size_t slice_length, ParallelFor& parallel, const DecodeLimits& limits,
          SpareSlices& spare);

  // The sums of steps that open from now on are formed in `home`, which has `length` floats. Nobody
  // else may touch it while a step is open.
  void SetHome(std::span<float> home);

  // A step starts, or starts again. The decoder stays as it is if workers keep the rows.
  void OpenRows(const std::shared_ptr<const CodeForm>& form);
  void OpenLists();
  const Slicing& cut() const { return cut_; }  // The cut of answers' parts in this range.

  // The decoder of rows. It exists once a step with rows that are sent was opened.
  StreamDecoder& decoder() const { return *decoder_; }
  // Adds a whole vector, slice by slice, and reuses the memory of the slices.
  void AddVector(std::vector<AlignedVector> slices, const Tally& tally);

  // Leaves the sum in the home.
  Status Finish();
  // As StreamDecoder::FinishApproximately, with these rows alone.
  Result<ApproximateDecoding> FinishApproximately(const std::vector<bool>& rows);
  const Tally& tally() const { return rows_ ? decoder_->tally() : of_lists_; }
  double amplification() const { return rows_ ? decoder_->amplification() : 1; }

 private:
  Slicing cut_;
  const size_t length_;
  std::span<float> home_;
  ParallelFor& parallel_;
  const DecodeLimits limits_;
  SpareSlices& spare_;
  std::shared_ptr<const CodeForm> form_;  // The form of the decoder.
  std::unique_ptr<StreamDecoder> decoder_;
  Tally of_lists_;
  bool rows_ = true;
  bool empty_ = true;  // No vector was added, so the sum holds old values.
};

}  // namespace motley
