// SPDX-License-Identifier: Apache-2.0
// Keeps exact zeros exact through a complex-packed code. Packing couples the two coordinates of a
// pair. Suppose that one of them is exactly zero in every partial gradient (a dead unit, an unused
// input). Decoding then returns rounding noise of its partner's size. Optimizers that divide by a
// gradient's magnitude (Adam) turn that noise into full steps, so values below the noise are set to
// zero.
//
// The size of the noise is computed from the answers, since their sums may cancel by chance.
// AddChecked (checked_add.h) sums the energy |values[2t] + i values[2t + 1]|^2 of the answers, pair
// by pair, and SumChecked that of the last answer. Energy is a float; on overflow it becomes the
// largest float. Answers above 1.8e19 thus have a lower noise floor, which never zeroes more than
// it should. Any thread.
#pragma once

#include <cstdint>
#include <span>

#include "coding/code_form.h"

namespace motley {

// The rounding noise in a sum of `answers` answers, relative to the root of their energy: 2^-19
// times the smaller of amplification sqrt(answers) and `norm`. This is several times the largest
// noise observed with independent roundings. `amplification` (DecodingVector) includes how much
// larger than an answer its terms were. `norm` is ||a||: if answer i is off by e |y_i|, the sum is
// off by at most e sum |a_i| |y_i| <= e ||a|| sqrt(energy).
double RoundingOfPairs(double amplification, size_t answers, double norm);
// The largest norm of the weights of any part; `a` is n x parts, row-major.
double LargestNorm(std::span<const Complex> a, uint32_t parts);

namespace reference {  // The floor that SumChecked (checked_sum.h) applies.

// Zeroes each coordinate whose magnitude is below noise * sqrt(energy of its pair).
void ZeroBelow(double noise, std::span<const float> energy, std::span<float> values);

}  // namespace reference

}  // namespace motley
