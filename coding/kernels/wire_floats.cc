// SPDX-License-Identifier: Apache-2.0
// Compiled once per instruction set by foreach_target; the best one is chosen at run time.
#include "coding/kernels/wire_floats.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/assert.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "coding/kernels/wire_floats.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef MOTLEY_CODING_WIRE_FLOATS
#define MOTLEY_CODING_WIRE_FLOATS
namespace motley {

// A block of int8 values is drawn from words of 32 counters: value t has the lower half of word
// t / 32 of counter t % 32 if t < 128, and the upper half of the word of value t - 128 otherwise.
inline constexpr size_t kDrawCounters = 32;
inline constexpr size_t kDrawWords = kInt8Block / 2;
inline constexpr size_t kPackedBlock = sizeof(float) + kInt8Block;
inline constexpr float kLargestByte = 127;
inline constexpr uint32_t kInfinityBits = 0x7f800000u;
inline constexpr uint32_t kMagnitudeBits = 0x7fffffffu;
// The multiples of a block's unit, and the inverse of the unit, must be finite.
inline constexpr float kLeastUnit = 0x1p-126F;
inline constexpr float kMostUnit = 0x1.020406p+121F;
static_assert(double{kMostUnit} * kLargestByte <= std::numeric_limits<float>::max());

// The constants of Philox 4x32-10 (Salmon et al., SC 2011).
inline constexpr uint32_t kPhiloxFactors[2] = {0xD2511F53u, 0xCD9E8D57u};
inline constexpr uint32_t kPhiloxSteps[2] = {0x9E3779B9u, 0xBB67AE85u};
inline constexpr int kPhiloxRounds = 10;

// The unit of a block whose largest magnitude has these bits.
inline float UnitOf(uint32_t largest) {
  if (largest >= kInfinityBits) return std::numeric_limits<float>::quiet_NaN();
  if (largest == 0) return 0;
  return std::clamp(std::bit_cast<float>(largest) / kLargestByte, kLeastUnit, kMostUnit);
}

// A draw between 0 and 1 from 16 bits.
inline float Chance(uint32_t half) { return (static_cast<float>(half) + 0.5F) * 0x1p-16F; }

inline uint16_t Bf16Of(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & kMagnitudeBits) > kInfinityBits) return static_cast<uint16_t>(bits >> 16 | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

inline float FloatOf(uint16_t bf16) { return std::bit_cast<float>(uint32_t{bf16} << 16); }

}  // namespace motley
#endif  // MOTLEY_CODING_WIRE_FLOATS

HWY_BEFORE_NAMESPACE();
namespace motley {
namespace HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR
namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::CappedTag<float, 16>;
using Ints = hn::RebindToSigned<Floats>;
using Words = hn::RebindToUnsigned<Floats>;
using WordVec = hn::Vec<Words>;

// The upper half of each product of 32-bit numbers.
HWY_INLINE WordVec MulHigh(WordVec a, WordVec b) {
  const Words d;
  const hn::RepartitionToWide<Words> wide;
  const auto even = hn::MulEven(a, b);
  const auto odd = hn::MulEven(hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(wide, a))), b);
  return hn::OddEven(hn::BitCast(d, odd), hn::BitCast(d, hn::ShiftRight<32>(even)));
}

// The draws of all values of a block.
HWY_INLINE void Draw(const Random::Philox& draws, size_t block, uint32_t* words) {
  const Words d;
  const WordVec first = hn::Set(d, kPhiloxFactors[0]);
  const WordVec second = hn::Set(d, kPhiloxFactors[1]);
  for (size_t i = 0; i < kDrawCounters; i += hn::Lanes(d)) {
    WordVec c0 = hn::Iota(d, static_cast<uint32_t>(block * kDrawCounters + i));
    WordVec c1 = hn::Zero(d);
    WordVec c2 = hn::Zero(d);
    WordVec c3 = hn::Set(d, draws.last_counter);
    uint32_t key[2] = {draws.key[0], draws.key[1]};
    for (int round = 0; round < kPhiloxRounds; ++round) {
      const WordVec high_first = MulHigh(c0, first);
      const WordVec low_first = hn::Mul(c0, first);
      const WordVec high_second = MulHigh(c2, second);
      const WordVec low_second = hn::Mul(c2, second);
      c0 = hn::Xor(hn::Xor(high_second, c1), hn::Set(d, key[0]));
      c1 = low_second;
      c2 = hn::Xor(hn::Xor(high_first, c3), hn::Set(d, key[1]));
      c3 = low_first;
      key[0] += kPhiloxSteps[0];
      key[1] += kPhiloxSteps[1];
    }
    hn::StoreU(c0, d, words + i);
    hn::StoreU(c1, d, words + kDrawCounters + i);
    hn::StoreU(c2, d, words + 2 * kDrawCounters + i);
    hn::StoreU(c3, d, words + 3 * kDrawCounters + i);
  }
}

HWY_INLINE uint32_t LargestBits(const float* values) {
  const Ints d;
  auto largest = hn::Zero(d);
  for (size_t t = 0; t < kInt8Block; t += hn::Lanes(d)) {
    const auto bits = hn::BitCast(d, hn::LoadU(Floats(), values + t));
    largest = hn::Max(largest, hn::And(bits, hn::Set(d, static_cast<int32_t>(kMagnitudeBits))));
  }
  return static_cast<uint32_t>(hn::GetLane(hn::MaxOfLanes(d, largest)));
}

// A whole block; the values may be those of `rounded`.
void PackBlock(const float* values, const Random::Philox& draws, size_t block, std::byte* to,
               float* rounded) {
  const Floats d;
  const Ints ints;
  const Words words;
  const hn::Rebind<int8_t, Floats> bytes;
  const float unit = UnitOf(LargestBits(values));
  std::memcpy(to, &unit, sizeof(unit));
  auto* const multiples = reinterpret_cast<int8_t*>(to + sizeof(unit));
  if (!(unit > 0)) {
    std::memset(multiples, 0, kInt8Block);
    if (rounded != nullptr) std::fill_n(rounded, kInt8Block, unit);
    return;
  }
  HWY_ALIGN uint32_t drawn[kDrawWords];
  Draw(draws, block, drawn);
  const auto inverse = hn::Set(d, 1 / unit);
  const auto most = hn::Set(d, kLargestByte);
  for (size_t t = 0; t < kInt8Block; t += hn::Lanes(d)) {
    const auto word = hn::LoadU(words, drawn + t % kDrawWords);
    const auto half =
        t < kDrawWords ? hn::And(word, hn::Set(words, 0xffffu)) : hn::ShiftRight<16>(word);
    const auto chance = hn::Mul(
        hn::Add(hn::ConvertTo(d, hn::BitCast(ints, half)), hn::Set(d, 0.5F)), hn::Set(d, 0x1p-16F));
    const auto value = hn::Mul(hn::LoadU(d, values + t), inverse);
    const auto below = hn::Floor(value);
    const auto up = hn::Lt(chance, hn::Sub(value, below));
    const auto sum = hn::Add(below, hn::IfThenElseZero(up, hn::Set(d, 1.0F)));
    const auto multiple = hn::Max(hn::Min(sum, most), hn::Neg(most));
    hn::StoreU(hn::DemoteTo(bytes, hn::ConvertTo(ints, multiple)), bytes, multiples + t);
    if (rounded != nullptr) hn::StoreU(hn::Mul(multiple, hn::Set(d, unit)), d, rounded + t);
  }
}

// Returns the least multiple.
int32_t UnpackBlock(const std::byte* from, float* values) {
  const Floats d;
  const Ints ints;
  const hn::Rebind<int8_t, Floats> bytes;
  float unit = 0;
  std::memcpy(&unit, from, sizeof(unit));
  const auto* const multiples = reinterpret_cast<const int8_t*>(from + sizeof(unit));
  auto least = hn::Zero(ints);
  for (size_t t = 0; t < kInt8Block; t += hn::Lanes(d)) {
    const auto multiple = hn::PromoteTo(ints, hn::LoadU(bytes, multiples + t));
    least = hn::Min(least, multiple);
    hn::StoreU(hn::Mul(hn::ConvertTo(d, multiple), hn::Set(d, unit)), d, values + t);
  }
  return hn::GetLane(hn::MinOfLanes(ints, least));
}
#else
void PackBlock(const float* values, const Random::Philox& draws, size_t block, std::byte* to,
               float* rounded) {
  reference::PackBlock(values, draws, block, to, rounded);
}

int32_t UnpackBlock(const std::byte* from, float* values) {
  float unit = 0;
  std::memcpy(&unit, from, sizeof(unit));
  int32_t least = 0;
  for (size_t t = 0; t < kInt8Block; ++t) {
    const auto multiple = static_cast<int8_t>(from[sizeof(unit) + t]);
    least = std::min<int32_t>(least, multiple);
    values[t] = static_cast<float>(multiple) * unit;
  }
  return least;
}
#endif

void PackBf16(const float* values, size_t count, uint16_t* to, float* rounded) {
  size_t t = 0;
#if HWY_TARGET != HWY_SCALAR
  const Ints d;
  const Words words;
  const hn::Rebind<uint16_t, Floats> halves;
  const auto magnitude = hn::Set(d, static_cast<int32_t>(kMagnitudeBits));
  const auto infinity = hn::Set(d, static_cast<int32_t>(kInfinityBits));
  for (; t + hn::Lanes(d) <= count; t += hn::Lanes(d)) {
    const auto bits = hn::BitCast(words, hn::LoadU(Floats(), values + t));
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(words, 1u));
    const auto nearest = hn::Add(bits, hn::Add(odd, hn::Set(words, 0x7fffu)));
    const auto quiet = hn::Or(bits, hn::Set(words, 0x400000u));
    const auto nan = hn::Gt(hn::And(hn::BitCast(d, bits), magnitude), infinity);
    const auto kept = hn::IfThenElse(hn::RebindMask(words, nan), quiet, nearest);
    const auto upper = hn::ShiftRight<16>(kept);
    hn::StoreU(hn::DemoteTo(halves, hn::BitCast(d, upper)), halves, to + t);
    if (rounded != nullptr) {
      hn::StoreU(hn::BitCast(Floats(), hn::ShiftLeft<16>(upper)), Floats(), rounded + t);
    }
  }
#endif
  for (; t < count; ++t) {
    to[t] = Bf16Of(values[t]);
    if (rounded != nullptr) rounded[t] = FloatOf(to[t]);
  }
}

void UnpackBf16(const uint16_t* from, size_t count, float* values) {
  size_t t = 0;
#if HWY_TARGET != HWY_SCALAR
  const Words words;
  const hn::Rebind<uint16_t, Floats> halves;
  for (; t + hn::Lanes(words) <= count; t += hn::Lanes(words)) {
    const auto upper = hn::PromoteTo(words, hn::LoadU(halves, from + t));
    hn::StoreU(hn::BitCast(Floats(), hn::ShiftLeft<16>(upper)), Floats(), values + t);
  }
#endif
  for (; t < count; ++t) values[t] = FloatOf(from[t]);
}

}  // namespace HWY_NAMESPACE
}  // namespace motley
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace motley {

HWY_EXPORT(PackBlock);
HWY_EXPORT(UnpackBlock);
HWY_EXPORT(PackBf16);
HWY_EXPORT(UnpackBf16);

namespace {

using PackOne = void (*)(const float*, const Random::Philox&, size_t, std::byte*, float*);

void PackInt8(std::span<const float> values, const Random::Philox& draws, std::byte* to,
              float* rounded, PackOne pack) {
  size_t t = 0;
  size_t block = 0;
  for (; t + kInt8Block <= values.size(); t += kInt8Block) {
    pack(values.data() + t, draws, block++, to, rounded == nullptr ? nullptr : rounded + t);
    to += kPackedBlock;
  }
  const size_t rest = values.size() - t;
  if (rest == 0) return;
  float last[kInt8Block] = {};
  std::byte packed[kPackedBlock];
  std::copy_n(values.data() + t, rest, last);
  pack(last, draws, block, packed, last);
  std::copy_n(packed, sizeof(float) + rest, to);
  if (rounded != nullptr) std::copy_n(last, rest, rounded + t);
}

// NaN stands for values that were not finite.
Status CheckBlock(const std::byte* from, int32_t least, size_t block) {
  float unit = 0;
  std::memcpy(&unit, from, sizeof(unit));
  const bool fits = std::isnan(unit) || unit == 0 || (unit >= kLeastUnit && unit <= kMostUnit);
  if (fits && least >= -kLargestByte) return Status::Ok();
  return Status::DataError(
      fmt::format("block {} of int8 values has unit {:.9g} and multiple {}", block, unit, least));
}

Status UnpackInt8(const std::byte* from, std::span<float> values) {
  size_t t = 0;
  size_t block = 0;
  for (; t + kInt8Block <= values.size(); t += kInt8Block) {
    const int32_t least = HWY_DYNAMIC_DISPATCH(UnpackBlock)(from, values.data() + t);
    MOTLEY_RETURN_IF_ERROR(CheckBlock(from, least, block++));
    from += kPackedBlock;
  }
  const size_t rest = values.size() - t;
  if (rest == 0) return Status::Ok();
  std::byte packed[kPackedBlock] = {};
  float last[kInt8Block];
  std::copy_n(from, sizeof(float) + rest, packed);
  const int32_t least = HWY_DYNAMIC_DISPATCH(UnpackBlock)(packed, last);
  std::copy_n(last, rest, values.data() + t);
  return CheckBlock(packed, least, block);
}

// The words of one Philox block.
void DrawOne(const Random::Philox& draws, uint32_t counter, uint32_t* words) {
  uint32_t c[4] = {counter, 0, 0, draws.last_counter};
  uint32_t key[2] = {draws.key[0], draws.key[1]};
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const uint64_t first = uint64_t{c[0]} * kPhiloxFactors[0];
    const uint64_t second = uint64_t{c[2]} * kPhiloxFactors[1];
    c[0] = static_cast<uint32_t>(second >> 32) ^ c[1] ^ key[0];
    c[1] = static_cast<uint32_t>(second);
    c[2] = static_cast<uint32_t>(first >> 32) ^ c[3] ^ key[1];
    c[3] = static_cast<uint32_t>(first);
    key[0] += kPhiloxSteps[0];
    key[1] += kPhiloxSteps[1];
  }
  for (size_t w = 0; w < 4; ++w) words[w * kDrawCounters] = c[w];
}

}  // namespace

void PackFloats(WireFormat format, std::span<const float> values, Random::Philox draws,
                std::span<std::byte> to, float* rounded) {
  MOTLEY_ASSERT(to.size() == WireBytes(format, values.size()));
  if (format == WireFormat::kInt8) {
    return PackInt8(values, draws, to.data(), rounded, HWY_DYNAMIC_DISPATCH(PackBlock));
  }
  if (format == WireFormat::kBf16) {
    // Messages begin where the allocator puts them, which suits any number.
    auto* const halves = reinterpret_cast<uint16_t*>(to.data());
    return HWY_DYNAMIC_DISPATCH(PackBf16)(values.data(), values.size(), halves, rounded);
  }
  std::memcpy(to.data(), values.data(), to.size());
  if (rounded != nullptr) std::copy(values.begin(), values.end(), rounded);
}

Status UnpackFloats(WireFormat format, BytesView bytes, std::span<float> values) {
  if (bytes.size() != WireBytes(format, values.size())) {
    return Status::DataError(fmt::format("{} bytes of {} values as {}, where {} are expected",
                                         bytes.size(), values.size(), NameOf(format),
                                         WireBytes(format, values.size())));
  }
  if (format == WireFormat::kInt8) return UnpackInt8(bytes.data(), values);
  if (format == WireFormat::kBf16) {
    const auto* const halves = reinterpret_cast<const uint16_t*>(bytes.data());
    HWY_DYNAMIC_DISPATCH(UnpackBf16)(halves, values.size(), values.data());
  } else {
    std::memcpy(values.data(), bytes.data(), bytes.size());
  }
  return Status::Ok();
}

void reference::PackBlock(const float* values, const Random::Philox& draws, size_t block,
                          std::byte* to, float* rounded) {
  uint32_t largest = 0;
  for (size_t t = 0; t < kInt8Block; ++t) {
    largest = std::max(largest, std::bit_cast<uint32_t>(values[t]) & kMagnitudeBits);
  }
  const float unit = UnitOf(largest);
  std::memcpy(to, &unit, sizeof(unit));
  uint32_t drawn[kDrawWords];
  for (uint32_t i = 0; i < kDrawCounters; ++i) {
    DrawOne(draws, static_cast<uint32_t>(block * kDrawCounters) + i, drawn + i);
  }
  const float inverse = 1 / unit;
  for (size_t t = 0; t < kInt8Block; ++t) {
    const uint32_t word = drawn[t % kDrawWords];
    float multiple = 0;
    if (unit > 0) {
      const float value = values[t] * inverse;
      const float below = std::floor(value);
      const bool up = Chance(t < kDrawWords ? word & 0xffffu : word >> 16) < value - below;
      multiple = std::clamp(below + (up ? 1.0F : 0.0F), -kLargestByte, kLargestByte);
    }
    to[sizeof(unit) + t] = static_cast<std::byte>(static_cast<int8_t>(multiple));
    if (rounded != nullptr) rounded[t] = multiple * unit;
  }
}

void reference::PackFloats(WireFormat format, std::span<const float> values, Random::Philox draws,
                           std::span<std::byte> to, float* rounded) {
  if (format == WireFormat::kInt8) {
    return PackInt8(values, draws, to.data(), rounded, &reference::PackBlock);
  }
  if (format == WireFormat::kFloat32) {
    return motley::PackFloats(format, values, draws, to, rounded);
  }
  for (size_t t = 0; t < values.size(); ++t) {
    const uint16_t half = Bf16Of(values[t]);
    std::memcpy(to.data() + t * sizeof(half), &half, sizeof(half));
    if (rounded != nullptr) rounded[t] = FloatOf(half);
  }
}

}  // namespace motley
#endif  // HWY_ONCE
