// SPDX-License-Identifier: Apache-2.0
// Sketches of vectors on the host: the squared norm, and the projection on random signs of a seed
// (base/signs.h; Alon, Matias, Szegedy, "The space complexity of approximating the frequency
// moments", 1996). Different vectors have different projections with high probability, even if
// their norms are equal (flipped signs, exchanged values or slices). `sketch` in devices/kernels.h
// does the same in a device's memory. Any thread.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "base/signs.h"

namespace motley {

struct Sketch {
  double squares = 0;     // Not finite if any value is not.
  double projection = 0;  // Exact except for the rounding of a sum in double.

  Sketch& operator+=(const Sketch& other) {
    squares += other.squares;
    projection += other.projection;
    return *this;
  }
};

// `first` is the index of the sign of values[0], a multiple of kSignBlock.
Sketch SketchOf(std::span<const float> values, SignKey key, size_t first = 0);

// A sender's declaration about a vector, which precedes the values.
struct Claim {
  // Relative to the norm: how far the sums of two processors may differ.
  static constexpr double kSlack = 1e-9;

  double norm_limit = std::numeric_limits<double>::infinity();  // The most that the 2-norm may be.
  double norm_least = 0;                                        // The least that the 2-norm may be.
  bool has_projection = false;
  double projection = 0;
  SignKey key = {};

  bool HoldsFor(double other) const {
    return !has_projection || std::abs(projection - other) <= kSlack * norm_limit;
  }
  // False for a sketch that is not finite.
  bool HoldsFor(const Sketch& sketch) const {
    const double norm = std::sqrt(sketch.squares);
    return norm <= norm_limit && norm >= norm_least && std::isfinite(norm) &&
           HoldsFor(sketch.projection);
  }
};

namespace reference {  // One value at a time.
Sketch SketchOf(std::span<const float> values, SignKey key, size_t first = 0);
}  // namespace reference

}  // namespace motley
