// SPDX-License-Identifier: Apache-2.0
// Cuts a vector into slices for the wire. A vector may belong to several shards, each of which has
// one contiguous range of it. No slice reaches over the end of a range. Within a range all slices
// are equal; the last may be shorter. Pure.
//
//   Slicing({10, 18}, 4): two shards     slices 0-4 4-8 8-10 | 10-14 14-18
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/signs.h"
#include "base/status.h"
#include "coding/kernels/sketch.h"
#include "transport/wire/header.h"

namespace motley {

class Slicing {
 public:
  Slicing() = default;
  // One range. `total` and `length` are in floats; `length` > 0.
  Slicing(size_t total, size_t length, WireFormat format = WireFormat::kFloat32)
      : Slicing(std::vector<size_t>{total}, length, format) {}
  // One range for each of `ends`, which grow from range to range and are not empty.
  Slicing(std::vector<size_t> ends, size_t length, WireFormat format = WireFormat::kFloat32);

  size_t total() const { return ends_.back(); }  // Floats in the whole vector.
  size_t length() const { return length_; }  // Floats in a slice that is not the last of a range.
  WireFormat format() const { return format_; }    // How slices travel.
  size_t count() const { return firsts_.back(); }  // Slices of the vector.
  size_t begin(size_t slice) const {
    const size_t shard = ShardOf(slice);
    return begin_of(shard) + (slice - firsts_[shard]) * length_;
  }
  size_t size(size_t slice) const {
    return std::min(length_, ends_[ShardOf(slice)] - begin(slice));
  }
  size_t bytes(size_t slice) const { return WireBytes(format_, size(slice)); }  // On the wire.
  size_t bytes_of(size_t shard) const;  // All slices of a shard.

  size_t shards() const { return ends_.size(); }
  size_t ShardOf(size_t slice) const {
    size_t shard = 0;
    while (shard + 1 < shards() && slice >= firsts_[shard + 1]) ++shard;
    return shard;
  }
  const std::vector<size_t>& ends() const { return ends_; }  // Of the ranges.
  size_t begin_of(size_t shard) const { return shard == 0 ? 0 : ends_[shard - 1]; }
  size_t end_of(size_t shard) const { return ends_[shard]; }
  size_t first_slice(size_t shard) const { return firsts_[shard]; }
  // The slices of a shard are [first_slice(shard), first_slice(shard + 1)).

  size_t Holding(size_t offset) const;  // The slice that this float is in. `offset` < total().
  // The slice that begins at `offset`, or count() if none does.
  size_t At(size_t offset) const;

 private:
  std::vector<size_t> ends_ = {0};
  std::vector<size_t> firsts_ = {0, 0};  // The first slice of each range, and the count.
  size_t length_ = 1;
  WireFormat format_ = WireFormat::kFloat32;
};

// The slice that a header announces. kDataError names the field that does not fit the cut.
Result<size_t> SliceOf(const Slicing& cut, const Header& header);

// The signs of a slice's sketch, from the sign of its first value on. They differ for each step and
// offset, so a slice in the wrong place has the wrong sketch. All answers of a step share them:
// copies of a row can be compared, and the sketch of a sum is the sum of the sketches.
SignKey SignsAt(uint64_t seed, StepId step, uint64_t offset);
// The signs with which a slice's header declares its sketch.
SignKey SignsOf(const Header& header);

// The claim of a slice's header about its payload. kDataError: no gradient has that norm, or no
// vector has that sketch.
Result<Claim> ClaimOf(const Header& header);

}  // namespace motley
