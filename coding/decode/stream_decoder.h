// SPDX-License-Identifier: Apache-2.0
// Decodes one step's gradient from the slices of coded answers as they arrive. It keeps
// `accumulators` vectors as long as an answer (and half a vector for complex packing, see
// noise_floor.h) instead of n - s vectors, and reads each byte once. It decides slice by slice:
// slices of a straggler that arrived count even if the rest never comes. One thread at a time; the
// arithmetic inside runs on the given ParallelFor.
//
// Example with n = 3 workers and s = 1 straggler: the answers are
//   y_1 = g_1/2 + g_2,   y_2 = g_2 - g_3,   y_3 = g_1/2 + g_3,
// and the accumulators over the answers so far are A_0 = y_1 - y_2 - y_3 and A_1 = y_1 + y_3. Any
// two answers give the sum g_1 + g_2 + g_3:
//   answers 1 and 3: A_1     answers 1 and 2: A_0 + A_1     answers 2 and 3: A_1 - A_0
// Suppose that answers have two slices and worker 3 pauses after slice 0. Slice 0 may then decode
// from workers 1 and 3, and slice 1 from workers 1 and 2. The answer that completes a slice is not
// added to the accumulators. Instead, one pass combines it with them, and writes the slice's sum in
// place of an accumulator (beside them if gradients are cut into parts).
//
// Tiling forms keep one sum. Answers are added in a fixed order, so that the sum is bit-equal
// whoever answers first. Answers that come early wait in whole, as long as they take no more than
// DecodeLimits::waiting_bytes or s + 1 vectors. Beyond that, answers are added as they come; the
// sum is then exact to rounding, and the same for the same order of arrival. So a decoder holds at
// most s + 2 vectors (or one and waiting_bytes) and the slices in flight. If supports overlap,
// every answer that may become part of a cover waits.
//
// With DecodeLimits::keep_rows the decoder keeps all rows, up to n vectors beside the sum, and
// weighs them at the end. Accumulators cannot do this, because the weights are only known when the
// step ends (approximate.h).
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
    kDuplicate,  // This slice of this row arrived before.
    kNotNeeded,  // The slice decodes without it, or another answer covers the same partitions.
  };

  // `length` is the number of floats in the sum (even for complex packing), and in an answer unless
  // the form has parts. Answers are cut into slices of `slice_length` floats (even; the last may be
  // shorter). `form` and `parallel` must outlive the decoder, and `form` must not change.
  StreamDecoder(const CodeForm& form, size_t length, size_t slice_length, ParallelFor& parallel,
                DecodeLimits limits = {});
  ~StreamDecoder();
  StreamDecoder(const StreamDecoder&) = delete;
  StreamDecoder& operator=(const StreamDecoder&) = delete;

  // Starts the next step. The form may be another one, with answers of another length. Buffers are
  // kept, and so are solutions if the form is the same.
  void Reset(const CodeForm& form);
  // Lends an output buffer of length() floats, or takes it back (empty). The decoder then
  // accumulates into it (without parts) and writes decoded slices there, so that Finish into the
  // same span has nothing left to copy. SetHome starts the step again. Nobody else may touch the
  // buffer from Reset to Finish.
  void SetHome(std::span<float> home);

  size_t length() const;                    // Floats in the sum.
  size_t answer_length() const;             // Floats in an answer to this form.
  size_t slice_count() const;               // Slices in an answer.
  size_t slice_begin(size_t slice) const;   // First float of a slice.
  size_t slice_length(size_t slice) const;  // Floats in it.

  // Adds one slice of `row`. Any worker may answer the row, and slices of one row may come from
  // different workers. `values` has slice_length(slice) floats; it may be swapped for another
  // buffer or emptied.
  //
  // `claim` is the declaration in the slice's header. The 2-norm may exceed the claim's limit by at
  // most 1e-5 of it, for rounding, and may not be below its least norm. The projection must match
  // if there is one; its first sign belongs to the slice's first value. `tally`, finite, belongs to
  // the whole answer; the tally that comes with the first slice counts.
  //
  // kDataError: no such row or slice, a wrong length, values that are not finite, or another norm
  // or projection. The slice does not count. If the row is then Touched or the decoder is
  // spoiled(), false values are already in the sums, and the caller must Reset. kResource: out of
  // memory for the sums.
  Result<Outcome> AddSlice(RowId row, size_t slice, AlignedVector& values, const Claim& claim,
                           const Tally& tally = {});
  Result<Outcome> AddSlice(RowId row, size_t slice, AlignedVector& values, double norm_limit) {
    return AddSlice(row, slice, values, Claim{.norm_limit = norm_limit});
  }

  bool Touched(RowId row) const;  // Some slice of the row was added.
  // True if part of a refused slice is in the sums. Slices of up to 16,384 floats are checked whole
  // before they are added. Longer ones are checked block by block (the projection at their end), so
  // that memory is read once.
  bool spoiled() const;
  // All slices of the row arrived or are not needed. With keep_rows all are needed until the end.
  bool RowComplete(RowId row) const;
  bool Decodable() const;  // Every slice decodes.
  // The slice decodes. Without keep_rows, its sum is then in the lent buffer.
  bool Decodable(size_t slice) const;

  // Writes the sum (length() floats). kNotDecodable until Decodable(). If the norm guard refuses
  // even all rows, that never holds, and the step needs another code.
  Status Finish(std::span<float> sum);
  // An alternative to Finish, at any time: writes the sum of the complete rows with the least
  // error, scaled to be unbiased (approximate.h). Rows with missing slices have weight 0.
  // `rows`, unless it is empty, says for each row if it may be used. kNotDecodable when there is no
  // such row; otherwise the step ends, and Reset must follow. Precondition:
  // DecodeLimits::keep_rows.
  Result<ApproximateDecoding> FinishApproximately(std::span<float> sum,
                                                  const std::vector<bool>& rows = {});
  // The tally of the sum, once it is Decodable() or ended approximately: the answers' tallies, in
  // double, with the weights of their first slices. Imaginary parts are rounding errors.
  const Tally& tally() const;

  // The worst of the slices decoded so far; 0 after FinishApproximately.
  double residual() const;
  double amplification() const;
  // Bytes in sums and waiting slices, without the lent buffer.
  size_t held_bytes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace motley
