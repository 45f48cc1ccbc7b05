// SPDX-License-Identifier: Apache-2.0
// Compiled once per instruction set by foreach_target; the best one is chosen at run time.
#include "coding/checked_add.h"

#include <algorithm>
#include <vector>

#include "coding/weights.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "coding/checked_add.cc"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "coding/add_block-inl.h"

HWY_BEFORE_NAMESPACE();
namespace motley {
namespace HWY_NAMESPACE {

// A cache line.
constexpr size_t kLineFloats = 16;

// Sum of squares of a block; meanwhile the sums that it goes to are fetched.
double CheckBlock(const float* values, size_t count, const float* const* sums, size_t sum_count,
                  size_t at) {
  for (size_t r = 0; r < sum_count; ++r) {
    for (size_t t = 0; t < count; t += kLineFloats) hwy::Prefetch(sums[r] + at + t);
  }
  return SquareSum(values, count);
}

// energy (+)= |pair|^2.
template <bool kOverwrite>
void AddEnergy(const float* values, size_t count, float* energy) {
  size_t t = 0;
#if HWY_TARGET != HWY_SCALAR
  const Tag d;
  const size_t lanes = hn::Lanes(d);
  for (; t + 2 * lanes <= count; t += 2 * lanes) {
    const Vec low = hn::LoadU(d, values + t);
    const Vec high = hn::LoadU(d, values + t + lanes);
    const Vec low_squares = hn::Mul(low, low);
    const Vec high_squares = hn::Mul(high, high);
    Vec pairs = hn::Add(hn::ConcatEven(d, high_squares, low_squares),
                        hn::ConcatOdd(d, high_squares, low_squares));
    if (!kOverwrite) pairs = hn::Add(hn::LoadU(d, energy + t / 2), pairs);
    hn::StoreU(pairs, d, energy + t / 2);
  }
#endif
  for (; t + 1 < count; t += 2) {
    const float pair = values[t] * values[t] + values[t + 1] * values[t + 1];
    energy[t / 2] = kOverwrite ? pair : energy[t / 2] + pair;
  }
}

template <bool kOverwrite>
double AddBlocks(bool packed, const float* weights, const float* values, size_t count,
                 float* const* sums, size_t sum_count, float* energy, double limit) {
  double squares = 0;
  for (size_t begin = 0; begin < count; begin += kCheckedBlock) {
    const size_t size = std::min(kCheckedBlock, count - begin);
    squares += CheckBlock(values + begin, size, sums, sum_count, begin);
    if (!(squares <= limit)) return squares;
    // The next block comes while this one is added.
    const size_t next = begin + size;
    const size_t ahead = std::min(kCheckedBlock, count - next);
    for (size_t t = 0; t < ahead; t += kLineFloats) hwy::Prefetch(values + next + t);
    for (size_t r = 0; r < sum_count; ++r) {
      if (packed) {
        AddPairs<kOverwrite>(weights + 2 * r, values + begin, size, sums[r] + begin);
      } else {
        AddReals<kOverwrite>(weights[r], values + begin, size, sums[r] + begin);
      }
    }
    if (energy != nullptr) AddEnergy<kOverwrite>(values + begin, size, energy + begin / 2);
  }
  return squares;
}

double AddAllBlocks(bool overwrite, bool packed, const float* weights, const float* values,
                    size_t count, float* const* sums, size_t sum_count, float* energy,
                    double limit) {
  return overwrite
             ? AddBlocks<true>(packed, weights, values, count, sums, sum_count, energy, limit)
             : AddBlocks<false>(packed, weights, values, count, sums, sum_count, energy, limit);
}

}  // namespace HWY_NAMESPACE
}  // namespace motley
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace motley {

HWY_EXPORT(AddAllBlocks);

double AddChecked(const CheckedSums& into, std::span<const float> values, double limit) {
  const bool packed = into.field == Field::kComplexPacked;
  MOTLEY_ASSERT(into.weights.size() == into.sums.size() && (!packed || values.size() % 2 == 0));
  MOTLEY_ASSERT(packed || into.energy == nullptr);
  const std::vector<float> weights = WeightFloats(into.field, into.weights);
  return HWY_DYNAMIC_DISPATCH(AddAllBlocks)(into.overwrite, packed, weights.data(), values.data(),
                                            values.size(), into.sums.data(), into.sums.size(),
                                            into.energy, limit);
}

}  // namespace motley
#endif  // HWY_ONCE
