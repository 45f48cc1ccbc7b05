// SPDX-License-Identifier: Apache-2.0
// Compiled once per instruction set by foreach_target; the best one is chosen at run time.
#include "coding/combine.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "coding/combine.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace motley {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
using Vec = hn::Vec<Tag>;

// Floats worked on before the next weight is loaded: they stay in the first-level cache. Even.
constexpr size_t kBlock = 2048;

// As many whole pairs as vectors hold of: sum += re * v + (-im, im, ...) * swap(v). Returns how
// many floats that were; the scalar target, whose vectors are single floats, leaves all to the
// caller.
size_t AddWholePairs(const float* weight, const float* values, size_t count, float* sum) {
  size_t t = 0;
#if HWY_TARGET != HWY_SCALAR
  const Tag d;
  const size_t lanes = hn::Lanes(d);
  const Vec re = hn::Set(d, weight[0]);
  const Vec im = hn::OddEven(hn::Set(d, weight[1]), hn::Set(d, -weight[1]));
  for (; t + lanes <= count; t += lanes) {
    const Vec value = hn::LoadU(d, values + t);
    const Vec real_part = hn::MulAdd(re, value, hn::LoadU(d, sum + t));
    hn::StoreU(hn::MulAdd(im, hn::Reverse2(d, value), real_part), d, sum + t);
  }
#else
  (void)weight, (void)values, (void)count, (void)sum;
#endif
  return t;
}

// sum += weight * values for interleaved pairs.
void AddPairs(const float* weight, const float* values, size_t count, float* sum) {
  for (size_t t = AddWholePairs(weight, values, count, sum); t + 1 < count; t += 2) {
    const float re = values[t];
    const float im = values[t + 1];
    sum[t] += weight[0] * re - weight[1] * im;
    sum[t + 1] += weight[0] * im + weight[1] * re;
  }
}

void AddReals(float weight, const float* values, size_t count, float* sum) {
  const Tag d;
  const size_t lanes = hn::Lanes(d);
  const Vec factor = hn::Set(d, weight);
  size_t t = 0;
  for (; t + lanes <= count; t += lanes) {
    const Vec value = hn::LoadU(d, values + t);
    hn::StoreU(hn::MulAdd(factor, value, hn::LoadU(d, sum + t)), d, sum + t);
  }
  for (; t < count; ++t) sum[t] += weight * values[t];
}

// weights: one float per sum, or (re, im) per sum when packed.
void AddToEach(bool packed, const float* weights, const float* values, size_t count,
               float* const* sums, size_t sum_count) {
  for (size_t begin = 0; begin < count; begin += kBlock) {
    const size_t size = count - begin < kBlock ? count - begin : kBlock;
    for (size_t r = 0; r < sum_count; ++r) {
      if (packed) {
        AddPairs(weights + 2 * r, values + begin, size, sums[r] + begin);
      } else {
        AddReals(weights[r], values + begin, size, sums[r] + begin);
      }
    }
  }
}

void SumTerms(bool packed, const float* weights, const float* const* terms, size_t term_count,
              float* out, size_t count) {
  for (size_t begin = 0; begin < count; begin += kBlock) {
    const size_t size = count - begin < kBlock ? count - begin : kBlock;
    for (size_t t = begin; t < begin + size; ++t) out[t] = 0;
    for (size_t r = 0; r < term_count; ++r) {
      if (packed) {
        AddPairs(weights + 2 * r, terms[r] + begin, size, out + begin);
      } else {
        AddReals(weights[r], terms[r] + begin, size, out + begin);
      }
    }
  }
}

double SquareSum(const float* values, size_t count) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> half;
  const size_t lanes = hn::Lanes(d);
  auto even = hn::Zero(d);
  auto odd = hn::Zero(d);
  size_t t = 0;
  for (; t + 2 * lanes <= count; t += 2 * lanes) {
    const auto a = hn::PromoteTo(d, hn::LoadU(half, values + t));
    const auto b = hn::PromoteTo(d, hn::LoadU(half, values + t + lanes));
    even = hn::MulAdd(a, a, even);
    odd = hn::MulAdd(b, b, odd);
  }
  double sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
  for (; t < count; ++t) sum += static_cast<double>(values[t]) * values[t];
  return sum;
}

}  // namespace HWY_NAMESPACE
}  // namespace motley
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace motley {

HWY_EXPORT(AddToEach);
HWY_EXPORT(SumTerms);
HWY_EXPORT(SquareSum);

namespace {

std::vector<float> ToFloats(Field field, std::span<const Complex> weights) {
  std::vector<float> floats;
  floats.reserve(2 * weights.size());
  for (const Complex& weight : weights) {
    floats.push_back(static_cast<float>(weight.real()));
    if (field == Field::kComplexPacked) floats.push_back(static_cast<float>(weight.imag()));
  }
  return floats;
}

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
  const std::vector<float> floats = ToFloats(field, weights);
  HWY_DYNAMIC_DISPATCH(AddToEach)
  (field == Field::kComplexPacked, floats.data(), values.data(), values.size(), sums.data(),
   sums.size());
}

void WeightedSum(Field field, std::span<const Complex> weights, std::span<const float* const> terms,
                 std::span<float> out) {
  MOTLEY_ASSERT(weights.size() == terms.size() && Fits(field, out.size()));
  const std::vector<float> floats = ToFloats(field, weights);
  HWY_DYNAMIC_DISPATCH(SumTerms)
  (field == Field::kComplexPacked, floats.data(), terms.data(), terms.size(), out.data(),
   out.size());
}

double SumOfSquares(std::span<const float> values) {
  return HWY_DYNAMIC_DISPATCH(SquareSum)(values.data(), values.size());
}

}  // namespace motley
#endif  // HWY_ONCE
