// SPDX-License-Identifier: Apache-2.0
// Exact zeros through a complex-packed code. Packing couples the two coordinates of a pair: where
// one of them is exactly zero in every partial gradient (a dead unit, an unused input), decoding
// returns rounding noise of its partner's size instead. Optimizers that divide by a gradient's
// magnitude (Adam) turn that noise into full steps, so what is below the noise is set to zero.
#pragma once

#include <span>

#include "coding/code_form.h"

namespace motley {

// out = sum_r weights[r] * terms[r] was formed in float on pairs; zeroes each coordinate that is
// below 2^-19 * sum_r |weights[r]| |terms[r]| of its pair (what rounding leaves of
// the answers, which may cancel inside the sums).
// Any thread; even lengths.
void ZeroBelowNoise(std::span<const Complex> weights, std::span<const float* const> terms,
                    std::span<float> out);

}  // namespace motley
