// SPDX-License-Identifier: Apache-2.0
#include "runtime/links/slicing.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace motley {
namespace {

constexpr double kMaxNorm = 1e30;     // No gradient that can be trained with is larger.
constexpr double kNormSlack = 1e-3;   // Rounding between the worker's norm and the server's.
constexpr double kNormFloor = 1e-30;  // Lets a slice of zeros pass.

}  // namespace

Slicing::Slicing(std::vector<size_t> ends, size_t length, WireFormat format)
    : ends_(std::move(ends)), length_(length), format_(format) {
  firsts_ = {0};
  for (size_t shard = 0; shard < ends_.size(); ++shard) {
    const size_t size = ends_[shard] - begin_of(shard);
    firsts_.push_back(firsts_.back() + (size + length_ - 1) / length_);
  }
}

size_t Slicing::bytes_of(size_t shard) const {
  size_t sum = 0;
  for (size_t slice = first_slice(shard); slice < first_slice(shard + 1); ++slice) {
    sum += bytes(slice);
  }
  return sum;
}

size_t Slicing::Holding(size_t offset) const {
  const auto shard =
      static_cast<size_t>(std::upper_bound(ends_.begin(), ends_.end(), offset) - ends_.begin());
  return firsts_[shard] + (offset - begin_of(shard)) / length_;
}

size_t Slicing::At(size_t offset) const {
  if (offset >= total()) return count();
  const size_t slice = Holding(offset);
  return begin(slice) == offset ? slice : count();
}

Result<size_t> SliceOf(const Slicing& cut, const Header& header) {
  if (header.total != cut.total()) {
    return Status::DataError(
        fmt::format("a vector of length {} where {} is expected", header.total, cut.total()));
  }
  const size_t slice = cut.At(header.offset);
  if (slice == cut.count()) {
    return Status::DataError(fmt::format("a slice at {} of {}, where slices start every {}",
                                         header.offset, cut.total(), cut.length()));
  }
  if (header.shard != cut.ShardOf(slice)) {
    return Status::DataError(fmt::format("a slice at {} of shard {}, where shard {} begins at {}",
                                         header.offset, header.shard, cut.ShardOf(slice),
                                         cut.begin_of(cut.ShardOf(slice))));
  }
  if (header.format != cut.format()) {
    return Status::DataError(fmt::format("a slice as {} where {} is expected",
                                         NameOf(header.format), NameOf(cut.format())));
  }
  const size_t bytes = cut.bytes(slice);
  if (header.length != bytes) {
    return Status::DataError(fmt::format("a slice of {} bytes at {}, where {} are expected",
                                         header.length, header.offset, bytes));
  }
  return slice;
}

SignKey SignsAt(uint64_t seed, StepId step, uint64_t offset) {
  seed = MixedSeed(seed) + step;
  seed = MixedSeed(seed) + offset;
  return SignKeyOf(seed);
}

Result<Claim> ClaimOf(const Header& header) {
  if (!(header.norm >= 0 && header.norm <= kMaxNorm) || !std::isfinite(header.sketch)) {
    return Status::DataError(fmt::format("a slice of norm {} and sketch {}: not of a gradient",
                                         header.norm, header.sketch));
  }
  return Claim{.norm_limit = header.norm * (1 + kNormSlack) + kNormFloor,
               .norm_least = header.norm * (1 - kNormSlack) - kNormFloor,
               .has_projection = true,
               .projection = header.sketch,
               .key = SignsOf(header)};
}

SignKey SignsOf(const Header& header) { return SignsAt(header.job, header.step, header.offset); }

}  // namespace motley
