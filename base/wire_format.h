// SPDX-License-Identifier: Apache-2.0
// The formats in which the floats of answers and parameters travel. The values in memory are always
// float32; coding/kernels/wire_floats.h turns them into bytes and back. Pure.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace motley {

enum class WireFormat : uint8_t {
  kFloat32 = 0,
  kBf16 = 1,  // The upper half of each float, rounded to nearest.
  kInt8 = 2,  // Blocks of kInt8Block values: a float, and one multiple of it for each value.
};
inline constexpr size_t kInt8Block = 256;

// A format as users and checks see it. The list has one entry per format, in the enum's sequence.
struct WireForm {
  WireFormat format;
  const char* name;
  const char* summary;  // One line for --help.
  // The largest error of a value, relative to the largest value of its block of `block` values.
  double error;
  size_t block;
  // The most that a code may multiply the variance of rounding by. With these limits the error of a
  // sum is at most about a tenth of the gradient.
  double most_noise;
  bool by_chance;  // Rounded up or down by chance, so that the mean is right.
};
inline constexpr WireForm kWireForms[] = {
    {WireFormat::kFloat32, "float32", "as they are in memory (default)", 0, 1, 0, false},
    {WireFormat::kBf16, "bf16", "half the bytes, rounded", 1.0 / 256, 1, 2500, false},
    {WireFormat::kInt8, "int8", "about a quarter, rounded by chance; on average exact", 1.0 / 127,
     kInt8Block, 100, true},
};

constexpr const WireForm& FormOf(WireFormat format) {
  return kWireForms[static_cast<size_t>(format)];
}
constexpr const char* NameOf(WireFormat format) { return FormOf(format).name; }

inline constexpr auto kWireFormats = [] {
  std::array<WireFormat, std::size(kWireForms)> all{};
  std::transform(std::begin(kWireForms), std::end(kWireForms), all.begin(),
                 [](const WireForm& form) { return form.format; });
  return all;
}();

// The format with this name; null: there is none.
constexpr const WireFormat* FindWireFormat(std::string_view name) {
  const auto* const at = std::find_if(std::begin(kWireForms), std::end(kWireForms),
                                      [name](const WireForm& form) { return name == form.name; });
  return at == std::end(kWireForms) ? nullptr : &at->format;
}

inline std::vector<std::string> WireFormatNames() {
  std::vector<std::string> names;
  for (const WireForm& form : kWireForms) names.emplace_back(form.name);
  return names;
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
