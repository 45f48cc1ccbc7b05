// SPDX-License-Identifier: Apache-2.0
// How a StreamDecoder keeps what arrived: with accumulators (C-form), in order as far as memory
// goes (tiling form), or row by row.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/aligned_memory.h"
#include "base/assert.h"
#include "base/parallel.h"
#include "base/status.h"
#include "coding/code_form.h"
#include "coding/decode/decoder.h"
#include "coding/kernels/checked_add.h"
#include "coding/kernels/checked_sum.h"
#include "coding/kernels/sketch.h"

namespace motley {

struct SliceLayout {
  size_t length = 0;        // Floats in an answer.
  size_t slice_length = 0;  // Floats in a slice, save perhaps the last.

  size_t count() const { return (length + slice_length - 1) / slice_length; }
  size_t begin(size_t slice) const { return slice * slice_length; }
  size_t size(size_t slice) const { return std::min(slice_length, length - begin(slice)); }
};

// Floats for sums; kept from step to step, not initialised.
class FloatPool {
 public:
  // False when there is no memory. What was in there is lost when it has to grow.
  bool Reserve(size_t count) {
    if (count <= size_) return true;
    data_.reset();
    data_ = MakeAlignedArray(count);
    size_ = data_ ? count : 0;
    return data_ != nullptr;
  }
  float* data() { return data_.get(); }
  size_t size_bytes() const { return size_ * sizeof(float); }

  // Buffers of slices that waited, for those who bring the next ones: memory fresh from the system
  // costs more than the sum. At most `most_bytes` (what may wait at any time) are kept; empty when
  // there is none.
  AlignedVector TakeBuffer() {
    AlignedVector buffer;
    if (buffers_.empty()) return buffer;
    buffer = std::move(buffers_.back());
    buffers_.pop_back();
    return buffer;
  }
  void GiveBuffer(AlignedVector buffer, size_t most_bytes) {
    const size_t bytes = (buffers_.size() + 1) * buffer.capacity() * sizeof(float);
    if (bytes <= most_bytes) buffers_.push_back(std::move(buffer));
  }

 private:
  std::vector<AlignedVector> buffers_;
  AlignedArray data_;
  size_t size_ = 0;
};

struct SumsContext {
  const CodeForm& form;
  SliceLayout layout;
  DecodeLimits limits;
  ParallelFor& parallel;
  FloatPool& pool;
  // Where what slices decode to is written as soon as they do; until then room for one vector of
  // sums, unless gradients are cut into parts. There from the first Add on.
  const std::span<float>& home;
};

// Floats that one task of a parallel loop combines; even, and whole blocks of signs.
inline constexpr size_t kCombineGrain = size_t{1} << 14;
static_assert(kCombineGrain % kSignBlock == 0);

// What a slice must be to be added.
struct SliceBounds {
  double squares = 0;  // The sum of its squares at most; finite, or NaN, below which nothing is.
  Claim claim;         // Whose least norm it must have, and the projection if that says one.

  bool Admit(const Sketch& sketch) const {
    return sketch.squares <= squares && std::sqrt(sketch.squares) >= claim.norm_least &&
           claim.HoldsFor(sketch.projection);
  }
};

// The sum of squares, and the projection where the claim has one, which else is 0; the order does
// not depend on the number of threads.
Sketch ParallelSketch(std::span<const float> values, const Claim& claim, ParallelFor& parallel);
// The same by one task.
Sketch SketchFor(const Claim& claim, std::span<const float> values);

// AddChecked of what begins `begin` floats into a slice.
Sketch AddCheckedPart(CheckedSums into, std::span<const float> part, const SliceBounds& bounds,
                      size_t begin);
// SumChecked of it.
Sketch SumCheckedPart(CheckedParts into, std::span<const float> part, const SliceBounds& bounds,
                      size_t begin);

Sketch SumOf(std::span<const Sketch> parts);

// `present` has one flag per row; rows without any partition count as present.
class SliceSums {
 public:
  virtual ~SliceSums() = default;

  // Nothing has arrived: the next step of the same form begins.
  virtual void Restart() = 0;

  // A slice that was not there before.
  struct Arrival {
    RowId row;
    size_t slice;
    AlignedVector& values;  // May be swapped or emptied.
    const SliceBounds& bounds;
    const std::vector<bool>& present;  // Of this slice, once it is added.
  };
  struct Added {
    Sketch sketch;         // Of the values; the projection as ParallelSketch's.
    bool spoiled = false;  // Refused too late: some of the slice is inside the sums.
    // What the slice decodes to is at home. Where the norm guard refuses even all rows that never
    // is; the step then has to be done under another code.
    bool finished = false;
  };
  // Takes the slice if its bounds admit it. The pool is reserved.
  virtual Added Add(const Arrival& arrival) = 0;
  // What a slice is a sum of that finished when these rows were there (one flag each), in the order
  // of summing. Only of a slice that did.
  struct Term {
    RowId row;
    Complex weight;  // Of the first part.
  };
  virtual std::vector<Term> TermsOf(const std::vector<bool>& present) const = 0;
  // Rows that bring the slice nothing once `row` is there.
  virtual std::span<const RowId> Twins(RowId row) const = 0;
  virtual size_t floats_needed() const = 0;  // In the pool.
  virtual size_t waiting_bytes() const = 0;
  virtual double residual() const = 0;  // Worst over the slices that are finished.
  virtual double amplification() const = 0;
  // Writes the weighted sum of a slice's rows; only where rows are kept, and these are there.
  virtual void WriteWeighted(size_t /*slice*/, std::span<const Complex> /*weights*/,
                             std::span<float> /*sum*/) {
    MOTLEY_ASSERT(false);
  }
};

std::unique_ptr<SliceSums> MakeClosedSums(const SumsContext& context);
std::unique_ptr<SliceSums> MakeTilingSums(const SumsContext& context);
// Decoding vectors, n x parts, as terms: rows of weight 0 are left out.
std::vector<SliceSums::Term> TermsOfVector(std::span<const Complex> a, uint32_t parts);
// DecodeLimits::keep_rows, for any form.
std::unique_ptr<SliceSums> MakeKeptSums(const SumsContext& context);

}  // namespace motley
