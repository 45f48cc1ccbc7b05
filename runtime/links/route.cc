// SPDX-License-Identifier: Apache-2.0
#include "runtime/links/route.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/assert.h"
#include "training/trainers/trainer.h"

namespace motley {

Route::Route(size_t parameters, uint32_t shards) : parameters_(parameters) {
  MOTLEY_ASSERT(parameters > 0);
  const size_t pairs = VectorLength(parameters) / 2;
  const size_t count = std::clamp<size_t>(shards, 1, std::min<size_t>(pairs, kMaxShards));
  for (size_t shard = 1; shard <= count; ++shard) {
    // The first shards get the pairs that do not divide.
    ends_.push_back(2 * (shard * (pairs / count) + std::min(shard, pairs % count)));
  }
}

Result<Route> Route::Parse(size_t parameters, const std::vector<uint64_t>& ends) {
  Route route;
  route.parameters_ = parameters;
  const size_t length = VectorLength(parameters);
  if (ends.empty() || ends.size() > kMaxShards || ends.back() != length) {
    return Status::DataError(fmt::format("{} shards that end at {}, for a vector of {} floats",
                                         ends.size(), ends.empty() ? 0 : ends.back(), length));
  }
  for (const uint64_t end : ends) {
    const size_t before = route.ends_.empty() ? 0 : route.ends_.back();
    if (end <= before || end % 2 != 0) {
      return Status::DataError(
          fmt::format("a shard from {} to {}: ranges begin and end at even numbers", before, end));
    }
    route.ends_.push_back(end);
  }
  return route;
}

size_t Route::parameters(size_t shard) const {
  return std::min(end(shard), parameters_) - begin(shard);
}

Slicing Route::Parameters(size_t slice_length, WireFormat wire) const {
  std::vector<size_t> ends = ends_;
  ends.back() = parameters_;
  return Slicing(std::move(ends), slice_length, wire);
}

}  // namespace motley
