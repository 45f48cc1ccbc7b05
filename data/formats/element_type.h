// SPDX-License-Identifier: Apache-2.0
// Element types of array files.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace motley {

struct ElementType {
  enum class Kind { kFloat, kBfloat, kSigned, kUnsigned, kBool };
  Kind kind = Kind::kFloat;
  uint32_t size_bytes = 4;
  bool big_endian = false;
};

struct BadElement {
  size_t index = 0;
  std::string why;  // "nan is not a finite number that a float can hold"
};

// Decodes the elements in `bytes` into `to`, which has exactly as many. Returns the first element
// that is not a finite number, or does not fit. Integers are rounded to float; as double (labels)
// they must be exact.
std::optional<BadElement> DecodeElements(const ElementType& type, std::string_view bytes,
                                         std::span<float> to);
std::optional<BadElement> DecodeElements(const ElementType& type, std::string_view bytes,
                                         std::span<double> to);

}  // namespace motley
