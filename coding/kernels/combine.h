// SPDX-License-Identifier: Apache-2.0
// Weighted sums of float vectors, vectorised for the processor at run time (Highway), and plain
// reference versions for tests. Any thread; spans do not overlap.
#pragma once

#include <span>

#include "coding/code_form.h"

namespace motley {

// sum += weight * values. kComplexPacked multiplies pairs (v[2t], v[2t+1]) as complex numbers.
void AddWeighted(Field field, Complex weight, std::span<const float> values, std::span<float> sum);

// sums[r] += weights[r] * values for all r in one pass over `values`.
void AddWeightedToEach(Field field, std::span<const Complex> weights, std::span<const float> values,
                       std::span<float* const> sums);

// out = sum_r weights[r] * terms[r]. `out` may be terms[0], and no other.
void WeightedSum(Field field, std::span<const Complex> weights, std::span<const float* const> terms,
                 std::span<float> out);

// Sum of squares in double; NaN or infinity when any value is.
double SumOfSquares(std::span<const float> values);

namespace reference {  // One value at a time, in double.
void AddWeighted(Field field, Complex weight, std::span<const float> values, std::span<float> sum);
void WeightedSum(Field field, std::span<const Complex> weights, std::span<const float* const> terms,
                 std::span<float> out);
double SumOfSquares(std::span<const float> values);
}  // namespace reference

}  // namespace motley
