// SPDX-License-Identifier: Apache-2.0
// What one pass over an answer does with its next block while it works on this one: fetches it and
// sums up its squares and signs, vector by vector, so that memory never waits for arithmetic. For
// every instruction set: included like add_block-inl.h.
#ifndef MOTLEY_CODING_FETCHES_AHEAD
#define MOTLEY_CODING_FETCHES_AHEAD
namespace motley {

// AMD's processors fetch such streams by themselves, and are a quarter slower when told to as well;
// Intel's gain a tenth (docs/performance.md).
inline bool FetchesAhead() {
#if defined(__x86_64__)
  static const bool told = [] {
    __builtin_cpu_init();
    return !__builtin_cpu_is("amd");
  }();
  return told;
#else
  return true;
#endif
}

}  // namespace motley
#endif  // MOTLEY_CODING_FETCHES_AHEAD

#if defined(MOTLEY_CODING_LOOK_AHEAD_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef MOTLEY_CODING_LOOK_AHEAD_INL
#undef MOTLEY_CODING_LOOK_AHEAD_INL
#else
#define MOTLEY_CODING_LOOK_AHEAD_INL
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

#include "coding/add_block-inl.h"
#include "coding/checked_add.h"
#include "coding/sketch.h"
#include "coding/sketch_block-inl.h"

HWY_BEFORE_NAMESPACE();
namespace motley {
namespace HWY_NAMESPACE {

constexpr size_t kLineFloats = 16;  // In a cache line.
static_assert(kCheckedBlock == kSignBlock);

// May lie beyond the end: what follows is then seldom wanted, and nothing is read.
HWY_INLINE void Fetch(const float* from, size_t floats_on) {
  hwy::Prefetch(reinterpret_cast<const float*>(reinterpret_cast<uintptr_t>(from) +
                                               floats_on * sizeof(float)));
}

// Of the next block, while this one is worked on.
enum class Look { kNot, kSquares, kSketch };

// SquareSum or, with kSketch, SketchBlock of what a block that begins with sign `first` holds.
template <Look kLook>
Sketch Checked(const float* values, size_t count, SignKey key, size_t first) {
  if (kLook == Look::kSketch) return SketchBlock(values, count, key, first);
  return {kLook == Look::kNot ? 0 : SquareSum(values, count), 0};
}

#if HWY_TARGET != HWY_SCALAR
// Of a whole block, which begins with sign `first`, vector by vector: what Checked returns, to the
// bit.
template <Look kLook>
class BlockLook {
 public:
  BlockLook(const float* block, SignKey key, size_t first)
      : block_(block), signs_(kLook == Look::kSketch ? BlockSigns(key, first) : BlockSigns()) {}

  HWY_INLINE void Add(size_t t) {
    if (kLook == Look::kNot) return;
    const hn::Rebind<float, Wide> half;
    Vec value = hn::LoadU(Tag(), block_ + t);
    if (kLook == Look::kSketch) value = signs_.Apply(value, t);
    const auto low = hn::PromoteTo(wide_, hn::LowerHalf(half, value));
    const auto high = hn::PromoteTo(wide_, hn::UpperHalf(half, value));
    low_squares_ = hn::MulAdd(low, low, low_squares_);
    high_squares_ = hn::MulAdd(high, high, high_squares_);
    if (kLook != Look::kSketch) return;
    low_sum_ = hn::Add(low_sum_, low);
    high_sum_ = hn::Add(high_sum_, high);
  }

  Sketch sketch() const {
    if (kLook == Look::kNot) return {};
    return {hn::GetLane(hn::SumOfLanes(wide_, hn::Add(low_squares_, high_squares_))),
            hn::GetLane(hn::SumOfLanes(wide_, hn::Add(low_sum_, high_sum_)))};
  }

 private:
  using Sums = hn::Vec<Wide>;
  const float* block_;
  const BlockSigns signs_;
  const Wide wide_;
  Sums low_squares_ = hn::Zero(wide_), high_squares_ = hn::Zero(wide_);
  Sums low_sum_ = hn::Zero(wide_), high_sum_ = hn::Zero(wide_);
};
#endif

}  // namespace HWY_NAMESPACE
}  // namespace motley
HWY_AFTER_NAMESPACE();

#endif  // MOTLEY_CODING_LOOK_AHEAD_INL
