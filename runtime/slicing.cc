// SPDX-License-Identifier: Apache-2.0
#include "runtime/slicing.h"

#include <fmt/format.h>

namespace motley {

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

SignKey SignsOf(const Header& header) { return SignsAt(header.job, header.step, header.offset); }

}  // namespace motley
