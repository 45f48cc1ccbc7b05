// SPDX-License-Identifier: Apache-2.0
// Compiled once per instruction set by foreach_target; the best one is chosen at run time.
#include "coding/kernels/combine.h"

#include <algorithm>

#include "coding/kernels/weights.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "coding/kernels/combine.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "coding/kernels/add_block-inl.h"

HWY_BEFORE_NAMESPACE();
namespace motley {
namespace HWY_NAMESPACE {

// Floats processed before the next weight is loaded; they stay in the first-level cache. Even.
constexpr size_t kBlock = 512;

// weights: one float per sum, or (re, im) per sum when packed.
void AddToEach(bool packed, const float* weights, const float* values, size_t count,
               float* const* sums, size_t sum_count) {
  for (size_t begin = 0; begin < count; begin += kBlock) {
    const size_t size = std::min(kBlock, count - begin);
    for (size_t r = 0; r < sum_count; ++r) {
      if (packed) {
        AddPairs<false>(weights + 2 * r, values + begin, size, sums[r] + begin);
      } else {
        AddReals<false>(weights[r], values + begin, size, sums[r] + begin);
      }
    }
  }
}

void SumTerms(bool packed, const float* weights, const float* const* terms, size_t term_count,
              float* out, size_t count) {
  if (term_count == 0) std::fill(out, out + count, 0.0F);
  for (size_t begin = 0; begin < count; begin += kBlock) {
    const size_t size = std::min(kBlock, count - begin);
    for (size_t r = 0; r < term_count; ++r) {
      const float* from = terms[r] + begin;
      if (packed) {
        const float* weight = weights + 2 * r;
        r == 0 ? AddPairs<true>(weight, from, size, out + begin)
               : AddPairs<false>(weight, from, size, out + begin);
      } else {
        r == 0 ? AddReals<true>(weights[r], from, size, out + begin)
               : AddReals<false>(weights[r], from, size, out + begin);
      }
    }
  }
}

double SumSquares(const float* values, size_t count) { return SquareSum(values, count); }

}  // namespace HWY_NAMESPACE
}  // namespace motley
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace motley {

HWY_EXPORT(AddToEach);
HWY_EXPORT(SumTerms);
HWY_EXPORT(SumSquares);

namespace {

bool Fits(Field field, size_t count) { return field == Field::kReal || count % 2 == 0; }

}  // namespace

void AddWeighted(Field field, Complex weight, std::span<const float> values, std::span<float> sum) {
  MOTLEY_ASSERT(values.size() == sum.size());
  float* const target = sum.data();
  AddWeightedToEach(field, {&weight, 1}, values, {&target, 1});
}

void AddWeightedToEach(Field field, std::span<const Complex> weights, std::span<const float> values,
                       std::span<float* const> sums) {
  MOTLEY_ASSERT(weights.size() == sums.size() && Fits(field, values.size()));
  const WeightFloats floats(field, weights);
  HWY_DYNAMIC_DISPATCH(AddToEach)
  (field == Field::kComplexPacked, floats.data(), values.data(), values.size(), sums.data(),
   sums.size());
}

void WeightedSum(Field field, std::span<const Complex> weights, std::span<const float* const> terms,
                 std::span<float> out) {
  MOTLEY_ASSERT(weights.size() == terms.size() && Fits(field, out.size()));
  const WeightFloats floats(field, weights);
  HWY_DYNAMIC_DISPATCH(SumTerms)
  (field == Field::kComplexPacked, floats.data(), terms.data(), terms.size(), out.data(),
   out.size());
}

double SumOfSquares(std::span<const float> values) {
  return HWY_DYNAMIC_DISPATCH(SumSquares)(values.data(), values.size());
}

}  // namespace motley
#endif  // HWY_ONCE
