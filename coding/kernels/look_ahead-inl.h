// SPDX-License-Identifier: Apache-2.0
// The check of the next block while a pass works on the present one. Squares and signs are summed
// vector by vector, so that memory never waits for arithmetic. Included for every instruction set,
// like add_block-inl.h.
#ifndef MOTLEY_CODING_FETCHES_AHEAD
#define MOTLEY_CODING_FETCHES_AHEAD
namespace motley {

// AMD processors prefetch such streams by themselves, and explicit prefetches make them a quarter
// slower. Intel processors gain a tenth (docs/log/performance.md).
inline bool FetchesAhead() {
#if defined(__x86_64__)
  static const bool fetches = [] {
    __builtin_cpu_init();
    return !__builtin_cpu_is("amd");
  }();
  return fetches;
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

#include "coding/kernels/add_block-inl.h"
#include "coding/kernels/checked_add.h"
#include "coding/kernels/sketch.h"
#include "coding/kernels/sketch_block-inl.h"

HWY_BEFORE_NAMESPACE();
namespace motley {
namespace HWY_NAMESPACE {

constexpr size_t kLineFloats = 16;  // One cache line.
static_assert(kCheckedBlock == kSignBlock);

// The address may lie beyond the end. That is rare, and a prefetch reads nothing.
HWY_INLINE void Fetch(const float* from, size_t floats_on) {
  hwy::Prefetch(reinterpret_cast<const float*>(reinterpret_cast<uintptr_t>(from) +
                                               floats_on * sizeof(float)));
}

// The sums of the next block to compute while working on this one.
enum class Look { kNot, kSquares, kSketch };

// SquareSum or, with kSketch, SketchBlock of a block that begins with sign `first`.
template <Look kLook>
Sketch Checked(const float* values, size_t count, SignKey key, size_t first) {
  if (kLook == Look::kSketch) return SketchBlock(values, count, key, first);
  return {kLook == Look::kNot ? 0 : SquareSum(values, count), 0};
}

#if HWY_TARGET != HWY_SCALAR
using WideVec = hn::Vec<Wide>;

// Looks at a whole block, which begins with sign `first`, vector by vector. Afterwards SketchOfSums
// equals what Checked returns, to the bit. The caller holds the sums, because vectors of some
// targets (SVE) have no size and cannot be members.
template <Look kLook>
class BlockLook {
 public:
  BlockLook(const float* block, SignKey key, size_t first)
      : block_(block), signs_(kLook == Look::kSketch ? BlockSigns(key, first) : BlockSigns()) {}

  HWY_INLINE void Add(size_t t, WideVec& low_squares, WideVec& high_squares, WideVec& low_sum,
                      WideVec& high_sum) const {
    if (kLook == Look::kNot) return;
    const Wide wide;
    const hn::Rebind<float, Wide> half;
    Vec value = hn::LoadU(Tag(), block_ + t);
    if (kLook == Look::kSketch) value = signs_.Apply(value, t);
    const WideVec low = hn::PromoteTo(wide, hn::LowerHalf(half, value));
    const WideVec high = hn::PromoteTo(wide, hn::UpperHalf(half, value));
    low_squares = hn::MulAdd(low, low, low_squares);
    high_squares = hn::MulAdd(high, high, high_squares);
    if (kLook != Look::kSketch) return;
    low_sum = hn::Add(low_sum, low);
    high_sum = hn::Add(high_sum, high);
  }

 private:
  const float* block_;
  const BlockSigns signs_;
};

inline Sketch SketchOfSums(WideVec low_squares, WideVec high_squares, WideVec low_sum,
                           WideVec high_sum) {
  const Wide wide;
  return {hn::GetLane(hn::SumOfLanes(wide, hn::Add(low_squares, high_squares))),
          hn::GetLane(hn::SumOfLanes(wide, hn::Add(low_sum, high_sum)))};
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace motley
HWY_AFTER_NAMESPACE();

#endif  // MOTLEY_CODING_LOOK_AHEAD_INL
