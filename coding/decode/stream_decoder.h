// SPDX-License-Identifier: Apache-2.0
// Puts one step's gradient together from the slices of coded answers as they arrive. Holds
// `accumulators` vectors as long as answers (and half of one for complex packing, see
// noise_floor.h) instead of n - s, one pass over each byte, and decides slice by slice: the slices
// of a straggler that did arrive count although the rest never came. The answer with which a slice
// decodes is not added to accumulators but combined with them. The sum stands in the place of one
// of them, or beside them where gradients are cut into parts. One thread at a time; the arithmetic
// inside runs on the given ParallelFor.
//
// Tiling forms hold one sum, and answers that came before their turn are kept whole while they take
// no more than DecodeLimits::waiting_bytes or s + 1 vectors, so that the sum is formed in the same
// order and is bit-equal whoever answered first. Those that find no room are added as they come:
// exact to rounding, and the same for the same order of arrival. So a decoder holds at most s + 2
// vectors (or one and waiting_bytes) and the slices in flight. Only where supports overlap does all
// wait that may yet be part of a cover.
//
// With DecodeLimits::keep_rows, rows are kept as they came, up to n vectors beside the sum, and
// weighed only at the end: no accumulator can hold weights that are known only when the step ends
// (approximate.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/aligned_memory.h"
#include "base/parallel.h"
#include "base/status.h"
#include "base/tally.h"
#include "coding/code_form.h"
#include "coding/decode/approximate.h"
#include "coding/decode/decoder.h"
#include "coding/kernels/sketch.h"

namespace motley {

class StreamDecoder {
 public:
  enum class Outcome {
    kAdded,      // Counts towards the sum.
    kDuplicate,  // This slice of this row was there already.
    kNotNeeded,  // The slice decodes without it, or another answer covers the same partitions.
  };

  // `length` floats in the sum (even for complex packing), and in answers unless the form has
  // parts; answers are cut into slices of `slice_length` floats (even; the last may be shorter).
  // `form` and `parallel` must outlive the decoder, and `form` not change.
  StreamDecoder(const CodeForm& form, size_t length, size_t slice_length, ParallelFor& parallel,
                DecodeLimits limits = {});
  ~StreamDecoder();
  StreamDecoder(const StreamDecoder&) = delete;
  StreamDecoder& operator=(const StreamDecoder&) = delete;

  // Starts the next step, perhaps with another code, whose answers have another length; buffers are
  // kept, and what was worked out about the same form as before.
  void Reset(const CodeForm& form);
  // Lends room for one vector (length() floats, or empty to take it back), in the place of one that
  // the decoder makes: it holds sums while a step runs (without parts), and what a slice decodes to
  // as soon as it does, so that Finish into that same span has nothing left to do.
  // Starts the step again. From Reset to Finish nobody else touches it.
  void SetHome(std::span<float> home);

  size_t length() const;                    // Of the sum.
  size_t answer_length() const;             // Of an answer to this form.
  size_t slice_count() const;               // Of an answer.
  size_t slice_begin(size_t slice) const;   // First float of a slice.
  size_t slice_length(size_t slice) const;  // Floats in it.

  // Adds one slice of `row`; it does not matter who answered the row, and slices of one row may
  // come from different workers. `values` has slice_length(slice) floats; it may be swapped for
  // another buffer or emptied. `claim` is what the slice's header declared: its 2-norm may not
  // exceed the limit, save 1e-5 for rounding, nor be less than the least, and it must have the
  // projection (where its first value has the first sign). kDataError: no such row or slice, a
  // wrong length, not finite, another norm or projection; it does not count. If the row is Touched
  // or the decoder spoiled() by then, an answer that lied is inside the sums: the caller starts the
  // step again with Reset. kResource: no memory for the sums. `tally`, finite, is the whole
  // answer's; the one that comes with the first slice counts.
  Result<Outcome> AddSlice(RowId row, size_t slice, AlignedVector& values, const Claim& claim,
                           const Tally& tally = {});
  Result<Outcome> AddSlice(RowId row, size_t slice, AlignedVector& values, double norm_limit) {
    return AddSlice(row, slice, values, Claim{.norm_limit = norm_limit});
  }

  bool Touched(RowId row) const;  // Some slice of the row was added.
  // Some of a slice that was refused is inside the sums. Slices of up to 16,384 floats are checked
  // whole before any of them is added; longer ones block by block (the projection at their end), so
  // that memory is read once.
  bool spoiled() const;
  // All slices arrived, or were not needed (which with keep_rows they are until the end).
  bool RowComplete(RowId row) const;
  bool Decodable() const;  // Every slice decodes.

  // Writes the sum (length() floats). kNotDecodable before Decodable(), which never comes where the
  // norm guard refuses even all rows: the step then needs another code.
  Status Finish(std::span<float> sum);
  // Instead, at any time: the sum of the whole rows that are there with the least error, scaled to
  // be unbiased (approximate.h); rows of which slices are missing have weight 0. kNotDecodable
  // when no row is whole. Otherwise it ends the step: then Reset. Precondition:
  // DecodeLimits::keep_rows.
  Result<ApproximateDecoding> FinishApproximately(std::span<float> sum);
  // Of the sum, once it is Decodable() or ended approximately: the answers' tallies with the
  // weights that their first slices have, in double. Imaginary parts are rounding.
  const Tally& tally() const;

  // Worst over the slices that decode so far; 0 after FinishApproximately.
  double residual() const;
  double amplification() const;
  // Bytes held now in sums and waiting slices, save what was lent.
  size_t held_bytes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace motley
