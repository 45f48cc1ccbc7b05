// SPDX-License-Identifier: Apache-2.0
// Compiled once per instruction set by foreach_target; the best one is chosen at run time.
#include "coding/checked_add.h"

#include <algorithm>
#include <cstdint>
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

constexpr size_t kLineFloats = 16;  // In a cache line.

// May lie beyond the end: what follows is then seldom wanted, and nothing is read.
HWY_INLINE void Fetch(const float* from, size_t floats_on) {
  hwy::Prefetch(reinterpret_cast<const float*>(reinterpret_cast<uintptr_t>(from) +
                                               floats_on * sizeof(float)));
}

// What is fetched before the first block, when nothing ran ahead of it.
void FetchFirst(const float* values, size_t count, float* const* sums, size_t sum_count) {
  for (size_t t = 0; t < std::min(count, 2 * kCheckedBlock); t += kLineFloats) Fetch(values, t);
  for (size_t r = 0; r < sum_count; ++r) {
    for (size_t t = 0; t < std::min(count, kCheckedBlock); t += kLineFloats) Fetch(sums[r], t);
  }
}

// Adds a whole block that has another one behind it to one sum. Meanwhile, line by line so that
// memory never waits for arithmetic, fetches the next block of the sum and, with kCheckNext, sums
// up the squares of the next block and fetches the one after that. Returns that sum, to the bit
// SquareSum's.
template <bool kOverwrite, bool kPacked, bool kCheckNext>
double AddAndLookAhead(const float* weight, const float* values, float* sum) {
#if HWY_TARGET == HWY_SCALAR
  if (kPacked) {
    AddPairs<kOverwrite>(weight, values, kCheckedBlock, sum);
  } else {
    AddReals<kOverwrite>(weight[0], values, kCheckedBlock, sum);
  }
  return kCheckNext ? SquareSum(values + kCheckedBlock, kCheckedBlock) : 0;
#else
  const Tag d;
  const hn::ScalableTag<double> wide;
  const hn::Rebind<float, decltype(wide)> half;
  const size_t lanes = hn::Lanes(d);
  const Vec re = hn::Set(d, weight[0]);
  const Vec im = ImaginaryFactor(kPacked ? weight[1] : 0);
  auto even = hn::Zero(wide);
  auto odd = hn::Zero(wide);
  const float* const next = values + kCheckedBlock;
  for (size_t line = 0; line < kCheckedBlock; line += std::max(lanes, kLineFloats)) {
    Fetch(sum, kCheckedBlock + line);
    if (kCheckNext) Fetch(next, kCheckedBlock + line);
    for (size_t t = line; t < line + std::max(lanes, kLineFloats); t += lanes) {
      if (kCheckNext) {
        const auto a = hn::PromoteTo(wide, hn::LoadU(half, next + t));
        const auto b = hn::PromoteTo(wide, hn::LoadU(half, next + t + lanes / 2));
        even = hn::MulAdd(a, a, even);
        odd = hn::MulAdd(b, b, odd);
      }
      if (kPacked) {
        AddPairVector<kOverwrite>(re, im, values + t, sum + t);
      } else {
        AddRealVector<kOverwrite>(re, values + t, sum + t);
      }
    }
  }
  return kCheckNext ? hn::GetLane(hn::SumOfLanes(wide, hn::Add(even, odd))) : 0;
#endif
}

// energy (+)= |pair|^2.
template <bool kOverwrite>
void AddEnergy(const float* values, size_t count, float* energy) {
  size_t t = 0;
#if HWY_TARGET != HWY_SCALAR
  const Tag d;
  const size_t lanes = hn::Lanes(d);
  for (; t + 2 * lanes <= count; t += 2 * lanes) {
    if (t / 2 % kLineFloats == 0) Fetch(energy + t / 2, kCheckedBlock / 2);
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

template <bool kOverwrite, bool kPacked>
double AddBlocks(const float* weights, const float* values, size_t count, float* const* sums,
                 size_t sum_count, float* energy, double limit) {
  constexpr size_t kWeight = kPacked ? 2 : 1;
  FetchFirst(values, count, sums, sum_count);
  double squares = SquareSum(values, std::min(kCheckedBlock, count));
  for (size_t begin = 0; begin < count; begin += kCheckedBlock) {
    if (!(squares <= limit)) return squares;
    const float* const block = values + begin;
    const size_t size = std::min(kCheckedBlock, count - begin);
    const size_t next = std::min(kCheckedBlock, count - begin - size);
    const bool whole = next == kCheckedBlock;
    if (!whole || sum_count == 0) squares += SquareSum(block + size, next);
    for (size_t r = 0; r < sum_count; ++r) {
      const float* const weight = weights + kWeight * r;
      float* const sum = sums[r] + begin;
      if (!whole && kPacked) {
        AddPairs<kOverwrite>(weight, block, size, sum);
      } else if (!whole) {
        AddReals<kOverwrite>(weight[0], block, size, sum);
      } else if (r == 0) {
        squares += AddAndLookAhead<kOverwrite, kPacked, true>(weight, block, sum);
      } else {
        AddAndLookAhead<kOverwrite, kPacked, false>(weight, block, sum);
      }
    }
    if (energy != nullptr) AddEnergy<kOverwrite>(block, size, energy + begin / 2);
  }
  return squares;
}

double AddAllBlocks(bool overwrite, bool packed, const float* weights, const float* values,
                    size_t count, float* const* sums, size_t sum_count, float* energy,
                    double limit) {
  const auto add = overwrite ? (packed ? AddBlocks<true, true> : AddBlocks<true, false>)
                             : (packed ? AddBlocks<false, true> : AddBlocks<false, false>);
  return add(weights, values, count, sums, sum_count, energy, limit);
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
  const WeightFloats weights(into.field, into.weights);
  return HWY_DYNAMIC_DISPATCH(AddAllBlocks)(into.overwrite, packed, weights.data(), values.data(),
                                            values.size(), into.sums.data(), into.sums.size(),
                                            into.energy, limit);
}

}  // namespace motley
#endif  // HWY_ONCE
