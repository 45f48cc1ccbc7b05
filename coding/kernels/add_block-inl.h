// SPDX-License-Identifier: Apache-2.0
// Vector code of weighted sums for every instruction set. Sources that Highway's foreach_target
// compiles once per set include this file, so it has no #pragma once. kOverwrite: the sum is
// written, not read.
#if defined(MOTLEY_CODING_ADD_BLOCK_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef MOTLEY_CODING_ADD_BLOCK_INL
#undef MOTLEY_CODING_ADD_BLOCK_INL
#else
#define MOTLEY_CODING_ADD_BLOCK_INL
#endif

#include <hwy/highway.h>

#include <cstddef>

HWY_BEFORE_NAMESPACE();
namespace motley {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// At most a cache line, which is also a row of signs (base/signs.h).
using Tag = hn::CappedTag<float, 16>;
using Vec = hn::Vec<Tag>;
using Wide = hn::CappedTag<double, 8>;

// One vector: sum (+)= re * v.
template <bool kOverwrite>
HWY_INLINE void AddRealVector(Vec re, const float* values, float* sum) {
  const Tag d;
  const Vec value = hn::LoadU(d, values);
  hn::StoreU(kOverwrite ? hn::Mul(re, value) : hn::MulAdd(re, value, hn::LoadU(d, sum)), d, sum);
}

// The scalar target's vectors are single floats, so they have no pairs.
#if HWY_TARGET != HWY_SCALAR
inline Vec ImaginaryFactor(float im) {
  const Tag d;
  return hn::OddEven(hn::Set(d, im), hn::Set(d, -im));
}

// One vector of pairs: sum (+)= re * v + im * swap(v), where im is an ImaginaryFactor.
template <bool kOverwrite>
HWY_INLINE void AddPairVector(Vec re, Vec im, const float* values, float* sum) {
  const Tag d;
  const Vec value = hn::LoadU(d, values);
  const Vec real_part = kOverwrite ? hn::Mul(re, value) : hn::MulAdd(re, value, hn::LoadU(d, sum));
  hn::StoreU(hn::MulAdd(im, hn::Reverse2(d, value), real_part), d, sum);
}
#endif

// Adds the pairs that fill whole vectors, and returns the number of their floats. The scalar target
// leaves everything to the caller.
template <bool kOverwrite>
size_t AddWholePairs(const float* weight, const float* values, size_t count, float* sum) {
  size_t t = 0;
#if HWY_TARGET != HWY_SCALAR
  const Tag d;
  const size_t lanes = hn::Lanes(d);
  const Vec re = hn::Set(d, weight[0]);
  const Vec im = ImaginaryFactor(weight[1]);
  for (; t + lanes <= count; t += lanes) AddPairVector<kOverwrite>(re, im, values + t, sum + t);
#else
  (void)weight, (void)values, (void)count, (void)sum;
#endif
  return t;
}

// sum (+)= weight * values for interleaved pairs. With kOverwrite `values` may be `sum`.
template <bool kOverwrite>
void AddPairs(const float* weight, const float* values, size_t count, float* sum) {
  for (size_t t = AddWholePairs<kOverwrite>(weight, values, count, sum); t + 1 < count; t += 2) {
    const float re = values[t];
    const float im = values[t + 1];
    const float real_part = weight[0] * re - weight[1] * im;
    const float imaginary_part = weight[0] * im + weight[1] * re;
    sum[t] = kOverwrite ? real_part : sum[t] + real_part;
    sum[t + 1] = kOverwrite ? imaginary_part : sum[t + 1] + imaginary_part;
  }
}

// sum (+)= weight * values. With kOverwrite `values` may be `sum`.
template <bool kOverwrite>
void AddReals(float weight, const float* values, size_t count, float* sum) {
  const Tag d;
  const size_t lanes = hn::Lanes(d);
  const Vec factor = hn::Set(d, weight);
  size_t t = 0;
  for (; t + lanes <= count; t += lanes) AddRealVector<kOverwrite>(factor, values + t, sum + t);
  for (; t < count; ++t) sum[t] = kOverwrite ? weight * values[t] : sum[t] + weight * values[t];
}

// The sum of squares in double.
inline double SquareSum(const float* values, size_t count) {
  const Wide d;
  const hn::Rebind<float, Wide> half;
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

#endif  // MOTLEY_CODING_ADD_BLOCK_INL
