// SPDX-License-Identifier: Apache-2.0
// Sketches of vectors, on the host: the norm's square, and the projection on random signs of a seed
// (base/signs.h; Alon, Matias, Szegedy, "The space complexity of approximating the frequency
// moments", 1996). Two vectors that differ have projections that differ, save by chance, also where
// their norms are equal: signs flipped, values or slices exchanged. `sketch` of devices/kernels.h
// is the same of a device's memory. Any thread.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "base/signs.h"

namespace motley {

struct Sketch {
  double squares = 0;     // Not finite when any value is not.
  double projection = 0;  // Exact but for the rounding of a sum in double.

  Sketch& operator+=(const Sketch& other) {
    squares += other.squares;
    projection += other.projection;
    return *this;
  }
};

// `first`: which sign values[0] has, a multiple of kSignBlock.
Sketch SketchOf(std::span<const float> values, SignKey key, size_t first = 0);

// What was said of a vector before it came.
struct Claim {
  // How far two processors' sums may be apart, of the norm.
  static constexpr double kSlack = 1e-9;

  double norm_limit = std::numeric_limits<double>::infinity();  // Its 2-norm is that at most,
  double norm_least = 0;                                        // and that at least.
  bool has_projection = false;
  double projection = 0;
  SignKey key = {};

  bool HoldsFor(double other) const {
    return !has_projection || std::abs(projection - other) <= kSlack * norm_limit;
  }
  // False of a sketch that is not finite.
  bool HoldsFor(const Sketch& sketch) const {
    const double norm = std::sqrt(sketch.squares);
    return norm <= norm_limit && norm >= norm_least && std::isfinite(norm) &&
           HoldsFor(sketch.projection);
  }
};

namespace reference {  // The same, one value at a time.
Sketch SketchOf(std::span<const float> values, SignKey key, size_t first = 0);
}  // namespace reference

}  // namespace motley
