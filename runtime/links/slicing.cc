// SPDX-License-Identifier: Apache-2.0
#include "runtime/links/slicing.h"

#include <fmt/format.h>

#include <cmath>

namespace motley {
namespace {

constexpr double kMaxNorm = 1e30;     // No gradient that can be trained with is larger.
constexpr double kNormSlack = 1e-3;   // Rounding between the worker's norm and the server's.
constexpr double kNormFloor = 1e-30;  // Lets a slice of zeros pass.

}  // namespace

Result<size_t> SliceOf(const Slicing& cut, const Header& header) {
  if (header.total != cut.total) {
    return Status::DataError(
        fmt::format("a vector of length {} where {} is expected", header.total, cut.total));
  }
  if (header.offset >= cut.total || header.offset % cut.length != 0) {
    return Status::DataError(fmt::format("a slice at {} of {}, where slices start every {}",
                                         header.offset, cut.total, cut.length));
  }
  const size_t slice = header.offset / cut.length;
  if (header.length != cut.size(slice) * cut.unit_bytes) {
    return Status::DataError(fmt::format("a slice of {} bytes at {}, where {} are expected",
                                         header.length, header.offset,
                                         cut.size(slice) * cut.unit_bytes));
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
