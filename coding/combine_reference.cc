// SPDX-License-Identifier: Apache-2.0
#include "base/assert.h"
#include "coding/combine.h"

namespace motley::reference {
namespace {

// One product in double: the t-th float of weight * values.
double Product(Field field, Complex weight, const float* values, size_t t) {
  if (field == Field::kReal) return weight.real() * values[t];
  if (t % 2 == 0) return weight.real() * values[t] - weight.imag() * values[t + 1];
  return weight.real() * values[t] + weight.imag() * values[t - 1];
}

}  // namespace

void AddWeighted(Field field, Complex weight, std::span<const float> values, std::span<float> sum) {
  MOTLEY_ASSERT(values.size() == sum.size());
  for (size_t t = 0; t < sum.size(); ++t) {
    sum[t] = static_cast<float>(sum[t] + Product(field, weight, values.data(), t));
  }
}

void WeightedSum(Field field, std::span<const Complex> weights, std::span<const float* const> terms,
                 std::span<float> out) {
  MOTLEY_ASSERT(weights.size() == terms.size());
  for (size_t t = 0; t < out.size(); ++t) {
    double sum = 0;
    for (size_t r = 0; r < terms.size(); ++r) sum += Product(field, weights[r], terms[r], t);
    out[t] = static_cast<float>(sum);
  }
}

double SumOfSquares(std::span<const float> values) {
  double sum = 0;
  for (float value : values) sum += static_cast<double>(value) * value;
  return sum;
}

}  // namespace motley::reference
