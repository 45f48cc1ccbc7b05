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

SignKey SignsOf(const Header& header) {
  uint64_t seed = (uint64_t{header.job} << 32) + header.row_id;
  seed = MixedSeed(seed) + header.step;
  seed = MixedSeed(seed) + header.offset;
  return SignKeyOf(seed);
}

}  // namespace motley
