// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/assert.h"
#include "coding/kernels/checked_add.h"
#include "coding/kernels/combine.h"

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

double AddChecked(const CheckedSums& into, std::span<const float> values, double limit) {
  double squares = 0;
  for (size_t begin = 0; begin < values.size(); begin += kCheckedBlock) {
    const size_t size = std::min(kCheckedBlock, values.size() - begin);
    const std::span<const float> block = values.subspan(begin, size);
    squares += reference::SumOfSquares(block);
    if (!(squares <= limit)) return squares;
    for (size_t r = 0; r < into.sums.size(); ++r) {
      const std::span<float> sum(into.sums[r] + begin, size);
      if (into.overwrite) std::fill(sum.begin(), sum.end(), 0.0F);
      reference::AddWeighted(into.field, into.weights[r], block, sum);
    }
    for (size_t t = 0; into.energy != nullptr && t < size; t += 2) {
      float& energy = into.energy[(begin + t) / 2];
      const double pair = reference::SumOfSquares(block.subspan(t, 2));
      energy = static_cast<float>(into.overwrite ? pair : energy + pair);
    }
  }
  return squares;
}

double SumOfSquares(std::span<const float> values) {
  double sum = 0;
  for (float value : values) sum += static_cast<double>(value) * value;
  return sum;
}

}  // namespace motley::reference
