// SPDX-License-Identifier: Apache-2.0
// How a vector is cut into slices on the wire: equal ones, the last perhaps shorter. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/ids.h"
#include "base/signs.h"
#include "base/status.h"
#include "coding/kernels/sketch.h"
#include "transport/wire/header.h"

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

// The signs of a slice's sketch, the first of which its first value has: others for each step and
// place, so that a slice in the place of another one does not have the right sketch. All answers of
// a step have the same ones: copies of a row can be compared, and the sketch of a sum is the sum of
// the sketches.
SignKey SignsAt(uint64_t seed, StepId step, uint64_t offset);
// Those that the header of a slice declares its sketch with.
SignKey SignsOf(const Header& header);

// What the header of a slice declares of its payload. kDataError: no gradient has that norm, or no
// vector that sketch.
Result<Claim> ClaimOf(const Header& header);

}  // namespace motley
