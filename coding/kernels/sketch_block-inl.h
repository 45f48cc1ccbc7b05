// SPDX-License-Identifier: Apache-2.0
// Vector code of sketches. Included for every instruction set, like add_block-inl.h.
#if defined(MOTLEY_CODING_SKETCH_BLOCK_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef MOTLEY_CODING_SKETCH_BLOCK_INL
#undef MOTLEY_CODING_SKETCH_BLOCK_INL
#else
#define MOTLEY_CODING_SKETCH_BLOCK_INL
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/signs.h"
#include "coding/kernels/add_block-inl.h"
#include "coding/kernels/sketch.h"

HWY_BEFORE_NAMESPACE();
namespace motley {
namespace HWY_NAMESPACE {

// The signs of the block of kSignBlock values that begins with sign `first`.
class BlockSigns {
 public:
  BlockSigns() = default;  // Set later by assignment.
  BlockSigns(SignKey key, size_t first) {
    const hn::CappedTag<uint32_t, kSignLanes> d;
    const auto number = static_cast<uint32_t>(first / kSignRows);
    for (uint32_t lane = 0; lane < kSignLanes; lane += static_cast<uint32_t>(hn::Lanes(d))) {
      auto word = hn::Xor(hn::Iota(d, number + lane), hn::Set(d, key.first));
      word = hn::Add(Mixed(d, word), hn::Set(d, key.second));
      hn::Store(Mixed(d, word), d, words_ + lane);
    }
  }

  // kSignBit where value t's sign is -1, else 0.
  uint32_t At(size_t t) const { return (words_[t % kSignLanes] << (t / kSignLanes)) & kSignBit; }

  // Applies the signs from t on to a vector of values within one row.
  HWY_INLINE Vec Apply(Vec values, size_t t) const {
    const Tag d;
    const hn::RebindToUnsigned<Tag> bits;
    const auto words = hn::Load(bits, words_ + t % kSignLanes);
    const auto row = static_cast<int>(t / kSignLanes);
    const auto sign = hn::And(hn::ShiftLeftSame(words, row), hn::Set(bits, kSignBit));
    return hn::BitCast(d, hn::Xor(hn::BitCast(bits, values), sign));
  }

 private:
  // A round of SignWord.
  template <class D, class V>
  static HWY_INLINE V Mixed(D d, V word) {
    word = hn::Mul(hn::Xor(word, hn::ShiftRight<16>(word)), hn::Set(d, 0x21f0aaadu));
    word = hn::Mul(hn::Xor(word, hn::ShiftRight<15>(word)), hn::Set(d, 0x735a2d97u));
    return hn::Xor(word, hn::ShiftRight<15>(word));
  }

  HWY_ALIGN uint32_t words_[kSignLanes];
};

// The sketch of at most kSignBlock values, with `first` as the first sign. The squares equal
// SquareSum's to the bit, except on the scalar target.
inline Sketch SketchBlock(const float* values, size_t count, SignKey key, size_t first) {
  const BlockSigns signs(key, first);
  Sketch sketch;
  size_t t = 0;
#if HWY_TARGET != HWY_SCALAR
  const Tag d;
  const Wide wide;
  const hn::Rebind<float, Wide> half;
  auto low_squares = hn::Zero(wide), high_squares = hn::Zero(wide);
  auto low_sum = hn::Zero(wide), high_sum = hn::Zero(wide);
  for (; t + hn::Lanes(d) <= count; t += hn::Lanes(d)) {
    const Vec value = signs.Apply(hn::LoadU(d, values + t), t);
    const auto low = hn::PromoteTo(wide, hn::LowerHalf(half, value));
    const auto high = hn::PromoteTo(wide, hn::UpperHalf(half, value));
    low_squares = hn::MulAdd(low, low, low_squares);
    high_squares = hn::MulAdd(high, high, high_squares);
    low_sum = hn::Add(low_sum, low);
    high_sum = hn::Add(high_sum, high);
  }
  sketch.squares = hn::GetLane(hn::SumOfLanes(wide, hn::Add(low_squares, high_squares)));
  sketch.projection = hn::GetLane(hn::SumOfLanes(wide, hn::Add(low_sum, high_sum)));
#endif
  for (; t < count; ++t) {
    const double value = values[t];
    sketch.squares += value * value;
    sketch.projection += signs.At(t) != 0 ? -value : value;
  }
  return sketch;
}

}  // namespace HWY_NAMESPACE
}  // namespace motley
HWY_AFTER_NAMESPACE();

#endif  // MOTLEY_CODING_SKETCH_BLOCK_INL
