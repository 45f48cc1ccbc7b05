// SPDX-License-Identifier: Apache-2.0
// Exact zeros through a complex-packed code. Packing couples the two coordinates of a pair: where
// one of them is exactly zero in every partial gradient (a dead unit, an unused input), decoding
// returns rounding noise of its partner's size instead. Optimizers that divide by a gradient's
// magnitude (Adam) turn that noise into full steps, so what is below the noise is set to zero. How
// large the noise is follows from the answers themselves, not from their sums, which cancel by
// chance: AddChecked (checked_add.h) sums up the energy |values[2t] + i values[2t + 1]|^2 of the
// answers, pair by pair, and SumChecked that of the last one. It is a float: where it overflows,
// the largest float stands for it, so that answers above 1.8e19 are decoded with less of a floor
// and nothing that counts is zeroed. Any thread.
#pragma once

#include <cstdint>
#include <span>

#include "coding/code_form.h"

namespace motley {

// How large rounding is in a sum of `answers` answers, relative to the root of their energy: 2^-19
// times the smaller of amplification sqrt(answers) and `norm`, several times the largest seen of
// independent roundings. `amplification` (DecodingVector) also counts how much larger than an
// answer its terms were. `norm` is ||a||: if answer i is off by e |y_i|, the sum is off by at most
// e sum |a_i| |y_i| <= e ||a|| sqrt(energy).
double RoundingOfPairs(double amplification, size_t answers, double norm);
// The largest norm of the parts' weights: `a` is n x parts, row-major.
double LargestNorm(std::span<const Complex> a, uint32_t parts);

namespace reference {  // What SumChecked (checked_sum.h) does with what it sums up.

// Zeroes each coordinate whose magnitude is below noise * sqrt(energy of its pair).
void ZeroBelow(double noise, std::span<const float> energy, std::span<float> values);

}  // namespace reference

}  // namespace motley
