// SPDX-License-Identifier: Apache-2.0
// Which shard has which range of a model's vector. A shard sums, updates and publishes its own
// range of every vector, and knows nothing of the others (runtime/shard/parameter_shard.h). Ranges
// are contiguous, in the order of the shards, and begin at even numbers, because complex
// coefficients act on pairs of floats. Immutable.
//
//   Route(9 parameters, 2 shards)    ends 6 10: shard 0 has floats 0-6, shard 1 has 6-10, of which
//                                    the last one is padding
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.h"
#include "runtime/links/slicing.h"

namespace motley {

inline constexpr uint32_t kMaxShards = 1024;

class Route {
 public:
  // Cuts the vector of a model into ranges that are as equal as pairs permit. A model with fewer
  // pairs than shards has one shard for each pair. `parameters` > 0.
  Route(size_t parameters, uint32_t shards);
  // The route with these ends, as a server announces it. kDataError: they are no ranges of the
  // vector.
  static Result<Route> Parse(size_t parameters, const std::vector<uint64_t>& ends);

  size_t shards() const { return ends_.size(); }
  size_t begin(size_t shard) const { return shard == 0 ? 0 : ends_[shard - 1]; }
  size_t end(size_t shard) const { return ends_[shard]; }
  size_t size(size_t shard) const { return end(shard) - begin(shard); }
  // The same without the padding.
  size_t parameters(size_t shard) const;
  std::vector<uint64_t> ends() const { return {ends_.begin(), ends_.end()}; }

  // The cut of vectors that workers send, and of parameters, into slices of this many floats
  // (even), and how they travel.
  Slicing Answers(size_t slice_length, WireFormat wire) const {
    return Slicing(ends_, slice_length, wire);
  }
  Slicing Parameters(size_t slice_length, WireFormat wire) const;

 private:
  Route() = default;

  size_t parameters_ = 0;
  std::vector<size_t> ends_;  // In floats of the vector, the last one is its length.
};

}  // namespace motley
