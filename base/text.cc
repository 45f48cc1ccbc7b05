// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <array>
#include <cstdint>

namespace motley {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

struct Character {
  uint32_t code = 0;
  size_t bytes = 0;  // 0: no UTF-8 begins here.
};

// The first character of a text that is not empty (RFC 3629: shortest form, no surrogates).
Character First(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return {};
  uint32_t code = lead & (0xFFU >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3FU);
  }
  constexpr std::array<uint32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code < 0xE000;
  if (code < kLeast[bytes] || code > 0x10FFFF || surrogate) return {};
  return {code, bytes};
}

bool EndsLine(uint32_t code) {
  return (code >= 0x09 && code <= 0x0D) || code == 0x85 || code == 0x2028 || code == 0x2029;
}

bool Hidden(uint32_t code) {
  const bool control = code < 0x20 || (code >= 0x7F && code < 0xA0);
  const bool direction = code == 0x200E || code == 0x200F || code == 0x061C ||
                         (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
  return control || direction;
}

}  // namespace

std::string CleanText(std::string_view text, size_t most_bytes) {
  std::string clean;
  while (!text.empty()) {
    const Character next = First(text);
    std::string_view shown = text.substr(0, next.bytes);
    if (next.bytes == 0) {
      shown = kReplacement;
    } else if (EndsLine(next.code)) {
      shown = " ";
    } else if (Hidden(next.code)) {
      shown = "";
    }
    if (clean.size() + shown.size() > most_bytes) break;
    clean += shown;
    text.remove_prefix(next.bytes == 0 ? 1 : next.bytes);
  }
  return clean;
}

}  // namespace motley
