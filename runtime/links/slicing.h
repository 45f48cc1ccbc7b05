// SPDX-License-Identifier: Apache-2.0
// Cuts a vector into slices for the wire. All are equal; the last may be shorter. Pure.
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
