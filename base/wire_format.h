// SPDX-License-Identifier: Apache-2.0
// The formats in which the floats of answers and parameters travel. The values in memory are always
// float32; coding/kernels/wire_floats.h turns them into bytes and back. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace motley {

enum class WireFormat : uint8_t {
  kFloat32 = 0,
  kBf16 = 1,  // The upper half of each float, rounded to nearest.
  kInt8 = 2,  // Blocks of kInt8Block values: a float, and one multiple of it for each value.
};
inline constexpr WireFormat kWireFormats[] = {WireFormat::kFloat32, WireFormat::kBf16,
                                              WireFormat::kInt8};
inline constexpr size_t kInt8Block = 256;

constexpr const char* NameOf(WireFormat format) {
  if (format == WireFormat::kBf16) return "bf16";
  return format == WireFormat::kInt8 ? "int8" : "float32";
}

// The format with this name; null: there is none.
constexpr const WireFormat* FindWireFormat(std::string_view name) {
  const auto* const at = std::find_if(std::begin(kWireFormats), std::end(kWireFormats),
                                      [name](WireFormat format) { return name == NameOf(format); });
  return at == std::end(kWireFormats) ? nullptr : at;
}

// The bytes that `count` floats take on the wire.
constexpr size_t WireBytes(WireFormat format, size_t count) {
  if (format == WireFormat::kFloat32) return count * sizeof(float);
  if (format == WireFormat::kBf16) return count * sizeof(uint16_t);
  return count + (count + kInt8Block - 1) / kInt8Block * sizeof(float);
}

// The floats whose bytes these could be, rounded down.
constexpr size_t WireFloats(WireFormat format, size_t bytes) {
  if (format == WireFormat::kFloat32) return bytes / sizeof(float);
  if (format == WireFormat::kBf16) return bytes / sizeof(uint16_t);
  constexpr size_t kBlock = kInt8Block + sizeof(float);
  const size_t scales = (bytes + kBlock - 1) / kBlock * sizeof(float);
  return bytes > scales ? bytes - scales : 0;
}

}  // namespace motley
