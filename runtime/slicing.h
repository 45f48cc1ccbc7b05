// SPDX-License-Identifier: Apache-2.0
// How a vector is cut into slices on the wire: equal ones, the last perhaps shorter. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/signs.h"
#include "base/status.h"
#include "transport/header.h"

namespace motley {

struct Slicing {
  size_t total = 0;   // Units in the whole vector.
  size_t length = 1;  // Units in a slice; > 0.
  size_t unit_bytes = sizeof(float);

  size_t count() const { return (total + length - 1) / length; }
  size_t begin(size_t slice) const { return slice * length; }
  size_t size(size_t slice) const { return std::min(length, total - begin(slice)); }
};

// Which slice a header announces. kDataError says which field does not fit the cut.
Result<size_t> SliceOf(const Slicing& cut, const Header& header);

// The signs of a slice's sketch, the first of which its first value has: others for each job, step,
// row and place, so that a slice in the place of another one has not the right sketch.
SignKey SignsOf(const Header& header);

}  // namespace motley
