// SPDX-License-Identifier: Apache-2.0
#include "data/formats/element_type.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/assert.h"

namespace motley {
namespace {

// IEEE 754 binary16, for which C++20 has no type.
double HalfValue(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  const double sign = (bits >> 15) != 0 ? -1 : 1;
  if (exponent == 31) return fraction != 0 ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

template <typename T>
T Load(const char* from, bool big_endian) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, from, sizeof(T));
  if (big_endian) std::reverse(bytes, bytes + sizeof(T));
  return std::bit_cast<T>(bytes);
}

template <typename To>
std::optional<std::string> Store(double value, To& to) {
  if (!(std::abs(value) <= std::numeric_limits<float>::max())) {
    return fmt::format("{} is not a finite number that a float can hold", value);
  }
  to = static_cast<To>(value);
  return std::nullopt;
}

template <typename Whole, typename To>
std::optional<std::string> StoreWhole(Whole value, To& to) {
  constexpr auto kExact = int64_t{1} << 53;
  const bool large = value > static_cast<Whole>(kExact) ||
                     (std::is_signed_v<Whole> && static_cast<int64_t>(value) < -kExact);
  if (sizeof(Whole) == 8 && std::is_same_v<To, double> && large) {
    return fmt::format("{} is too large for a label", value);
  }
  to = static_cast<To>(value);
  return std::nullopt;
}

template <size_t kSize, typename Call, typename To>
std::optional<BadElement> ForEach(std::string_view bytes, std::span<To> to, Call call) {
  for (size_t i = 0; i < to.size(); ++i) {
    if (auto why = call(bytes.data() + i * kSize, to[i])) return BadElement{i, *std::move(why)};
  }
  return std::nullopt;
}

template <typename T, typename To>
std::optional<BadElement> Numbers(const ElementType& type, std::string_view bytes,
                                  std::span<To> to) {
  return ForEach<sizeof(T)>(bytes, to, [big = type.big_endian](const char* from, To& into) {
    const T value = Load<T>(from, big);
    if constexpr (std::is_floating_point_v<T>) return Store(static_cast<double>(value), into);
    if constexpr (std::is_integral_v<T>) {
      // Smaller types are exact as double and could not be compared with `large`.
      if constexpr (sizeof(T) < 8) return Store(static_cast<double>(value), into);
      if constexpr (sizeof(T) == 8) return StoreWhole(value, into);
    }
  });
}

template <typename To>
std::optional<BadElement> Halves(const ElementType& type, std::string_view bytes,
                                 std::span<To> to) {
  const bool brain = type.kind == ElementType::Kind::kBfloat;
  return ForEach<2>(bytes, to, [brain, big = type.big_endian](const char* from, To& into) {
    const auto bits = Load<uint16_t>(from, big);
    return Store(brain ? std::bit_cast<float>(uint32_t{bits} << 16) : HalfValue(bits), into);
  });
}

template <typename To>
std::optional<BadElement> Booleans(std::string_view bytes, std::span<To> to) {
  return ForEach<1>(bytes, to, [](const char* from, To& into) -> std::optional<std::string> {
    if (*from != 0 && *from != 1) {
      return fmt::format("the byte {} is neither true nor false", static_cast<uint8_t>(*from));
    }
    into = static_cast<To>(*from);
    return std::nullopt;
  });
}

template <typename To>
std::optional<BadElement> Decode(const ElementType& type, std::string_view bytes,
                                 std::span<To> to) {
  using Kind = ElementType::Kind;
  MOTLEY_ASSERT(bytes.size() == to.size() * type.size_bytes);
  if (type.kind == Kind::kBool) return Booleans(bytes, to);
  if (type.kind == Kind::kBfloat) return Halves(type, bytes, to);
  const bool real = type.kind == Kind::kFloat;
  const bool with_sign = type.kind == Kind::kSigned;
  switch (type.size_bytes) {
    case 1: return with_sign ? Numbers<int8_t>(type, bytes, to) : Numbers<uint8_t>(type, bytes, to);
    case 2:
      if (real) return Halves(type, bytes, to);
      return with_sign ? Numbers<int16_t>(type, bytes, to) : Numbers<uint16_t>(type, bytes, to);
    case 4:
      if (real) return Numbers<float>(type, bytes, to);
      return with_sign ? Numbers<int32_t>(type, bytes, to) : Numbers<uint32_t>(type, bytes, to);
    default:
      if (real) return Numbers<double>(type, bytes, to);
      return with_sign ? Numbers<int64_t>(type, bytes, to) : Numbers<uint64_t>(type, bytes, to);
  }
}

}  // namespace

std::optional<BadElement> DecodeElements(const ElementType& type, std::string_view bytes,
                                         std::span<float> to) {
  return Decode(type, bytes, to);
}

std::optional<BadElement> DecodeElements(const ElementType& type, std::string_view bytes,
                                         std::span<double> to) {
  return Decode(type, bytes, to);
}

}  // namespace motley
