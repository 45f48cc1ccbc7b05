// SPDX-License-Identifier: Apache-2.0
#include "data/storage.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string>

#include "base/assert.h"

namespace motley {
namespace {

constexpr std::pair<Storage, const char*> kNames[] = {
    {Storage::kFloat32, "float32"}, {Storage::kFp16, "fp16"}, {Storage::kBf16, "bf16"}};

// Rounds off the lowest `places` bits to nearest; a carry moves correctly into the exponent.
uint32_t DropBits(uint32_t bits, int places) {
  const uint32_t odd = bits >> places & 1;
  return (bits + (uint32_t{1} << (places - 1)) - 1 + odd) >> places;
}

uint16_t RoundedToFp16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  constexpr uint32_t kLeastNormal = (127 - 14) << 23, kTooLarge = (127 + 16) << 23;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);
  if (magnitude >= kTooLarge) return static_cast<uint16_t>(sign | 0x7c00u);
  if (magnitude >= kLeastNormal) {
    return static_cast<uint16_t>(sign | DropBits(magnitude - ((127 - 15) << 23), 13));
  }
  // One bit in the fraction of 0.5 + x is 2^-24, the unit of binary16's subnormal numbers.
  const uint32_t sum = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f);
  return static_cast<uint16_t>(sign | (sum - std::bit_cast<uint32_t>(0.5f)));
}

uint16_t RoundedToBf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>(bits >> 16 | 0x40u);
  return static_cast<uint16_t>(DropBits(bits, 16));
}

}  // namespace

const char* NameOf(Storage storage) {
  for (const auto& [known, name] : kNames) {
    if (known == storage) return name;
  }
  MOTLEY_ASSERT(false);
}

Result<Storage> ParseStorage(std::string_view name) {
  for (const auto& [storage, known] : kNames) {
    if (known == name) return storage;
  }
  return Status::InvalidArgument(
      fmt::format("'{}' is no storage type: use float32, fp16 or bf16", name));
}

uint16_t Rounded(float value, Storage storage) {
  MOTLEY_ASSERT(storage != Storage::kFloat32);
  return storage == Storage::kFp16 ? RoundedToFp16(value) : RoundedToBf16(value);
}

bool IsFinite(uint16_t bits, Storage storage) {
  const uint16_t exponent = storage == Storage::kFp16 ? 0x7c00 : 0x7f80;
  return (bits & exponent) != exponent;
}

}  // namespace motley
