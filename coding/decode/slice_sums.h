// SPDX-License-Identifier: Apache-2.0
// A StreamDecoder's storage of arrived slices. It has one class for accumulators (C-form), one for
// sums in order as far as memory allows (tiling form), and one that keeps all rows.
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
  size_t slice_length = 0;  // Floats in a slice; the last may be shorter.

  size_t count() const { return (length + slice_length - 1) / slice_length; }
  size_t begin(size_t slice) const { return slice * slice_length; }
  size_t size(size_t slice) const { return std::min(slice_length, length - begin(slice)); }
};

// Memory for sums, kept from step to step. It is not initialised.
class FloatPool {
 public:
  // Returns false when there is no memory. If the pool has to grow, its content is lost.
  bool Reserve(size_t count) {
    if (count <= size_) return true;
    data_.reset();
    data_ = MakeAlignedArray(count);
    size_ = data_ ? count : 0;
    return data_ != nullptr;
  }
  float* data() { return data_.get(); }
  size_t size_bytes() const { return size_ * sizeof(float); }

  // Buffers of slices that waited, to be reused for the next slices, because fresh memory from the
  // system costs more than the sum. At most `most_bytes` are kept, which is the most that may wait
  // at any time. TakeBuffer returns an empty vector if there is none.
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
  // The caller's output buffer. Slices are written here when they decode; until then it holds one
  // vector of sums, unless gradients are cut into parts. Set before the first Add.
  const std::span<float>& home;
};

// Floats that one task of a parallel loop combines: even, and whole blocks of signs.
inline constexpr size_t kCombineGrain = size_t{1} << 14;
static_assert(kCombineGrain % kSignBlock == 0);

// Conditions on a slice.
struct SliceBounds {
  double squares = 0;  // The most that its squares may sum to; NaN rejects every slice.
  Claim claim;         // Gives its least norm, and its projection if it has one.

  bool Admit(const Sketch& sketch) const {
    return sketch.squares <= squares && std::sqrt(sketch.squares) >= claim.norm_least &&
           claim.HoldsFor(sketch.projection);
  }
};

// The sum of squares, and the projection if the claim has one, else 0. The order of summing does
// not depend on the number of threads.
Sketch ParallelSketch(std::span<const float> values, const Claim& claim, ParallelFor& parallel);
// The same in one task.
Sketch SketchFor(const Claim& claim, std::span<const float> values);

// AddChecked for values that begin `begin` floats into a slice.
Sketch AddCheckedPart(CheckedSums into, std::span<const float> part, const SliceBounds& bounds,
                      size_t begin);
// SumChecked for such values.
Sketch SumCheckedPart(CheckedParts into, std::span<const float> part, const SliceBounds& bounds,
                      size_t begin);

Sketch SumOf(std::span<const Sketch> parts);

// In all flags `present`, there is one per row, and empty rows count as present.
class SliceSums {
 public:
  virtual ~SliceSums() = default;

  // Begins the next step of the same form: nothing has arrived.
  virtual void Restart() = 0;

  // A slice that has not arrived before.
  struct Arrival {
    RowId row;
    size_t slice;
    AlignedVector& values;  // May be swapped or emptied.
    const SliceBounds& bounds;
    const std::vector<bool>& present;  // Rows of this slice, once it is added.
  };
  struct Added {
    Sketch sketch;         // The values' sketch, with ParallelSketch's projection.
    bool spoiled = false;  // The slice was refused too late: some of it is in the sums.
    // The decoded slice is at home. If the norm guard refuses even all rows, this never comes, and
    // the step needs another code.
    bool finished = false;
  };
  // Takes the slice if its bounds admit it. Precondition: the pool is reserved.
  virtual Added Add(const Arrival& arrival) = 0;
  // The terms that a finished slice is the sum of, in the order of summing. `present` flags the
  // rows that were present when it finished.
  struct Term {
    RowId row;
    Complex weight;  // For the first part.
  };
  virtual std::vector<Term> TermsOf(const std::vector<bool>& present) const = 0;
  // Rows that the slice no longer needs once `row` is present.
  virtual std::span<const RowId> Alternatives(RowId row) const = 0;
  virtual size_t floats_needed() const = 0;  // In the pool.
  virtual size_t waiting_bytes() const = 0;
  virtual double residual() const = 0;  // The worst of the finished slices.
  virtual double amplification() const = 0;
  // Writes the weighted sum of a slice's rows. Precondition: rows are kept, and these are present.
  virtual void WriteWeighted(size_t /*slice*/, std::span<const Complex> /*weights*/,
                             std::span<float> /*sum*/) {
    MOTLEY_ASSERT(false);
  }
};

std::unique_ptr<SliceSums> MakeClosedSums(const SumsContext& context);
std::unique_ptr<SliceSums> MakeTilingSums(const SumsContext& context);
// A decoding vector (n x parts) as terms; rows of weight 0 are left out.
std::vector<SliceSums::Term> TermsOfVector(std::span<const Complex> a, uint32_t parts);
// For DecodeLimits::keep_rows, with any form.
std::unique_ptr<SliceSums> MakeKeptSums(const SumsContext& context);

}  // namespace motley
