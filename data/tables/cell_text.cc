// SPDX-License-Identifier: Apache-2.0
#include "data/tables/cell_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace motley {
namespace {

bool IsUtf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[at + i]); };
    const unsigned first = byte(0);
    const size_t length = first < 0x80 ? 1 : first >> 5 == 6 ? 2 : first >> 4 == 14 ? 3 : 4;
    const bool starts = first < 0x80 || (first >= 0xc2 && first < 0xf5);
    if (!starts || at + length > text.size()) return false;
    for (size_t i = 1; i < length; ++i) {
      if ((byte(i) & 0xc0) != 0x80) return false;
    }
    // Overlong encodings, surrogates, and values beyond the last code point.
    const bool wrong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) > 0x9f) ||
                       (first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) > 0x8f);
    if (wrong) return false;
    at += length;
  }
  return true;
}

}  // namespace

std::string AsUtf8(std::string_view text) {
  if (IsUtf8(text)) return std::string(text);
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80) out += static_cast<char>(0xc0 | byte >> 6);
    out += byte < 0x80 ? c : static_cast<char>(0x80 | (byte & 0x3f));
  }
  return out;
}

bool MeansMissing(std::string_view field) {
  static constexpr std::string_view kMarks[] = {"",     "NA",   "N/A",  "n/a",  "NaN",  "nan",
                                                "null", "NULL", "Null", "None", "#N/A", "<NA>",
                                                "?",    "-NaN", "-nan", "#NA"};
  return std::find(std::begin(kMarks), std::end(kMarks), field) != std::end(kMarks);
}

bool LooksMissing(std::string_view field) {
  static constexpr std::string_view kMarks[] = {
      "-",         "--",     "---",    ".",       "..",      "...",           "*",
      "na",        "n.a",    "n.a.",   "n/a",     "nan",     "nil",           "null",
      "(null)",    "<null>", "none",   "no data", "missing", "not available", "unknown",
      "undefined", "blank",  "empty",  "#na",     "#value!", "#div/0!",       "#ref!",
      "#num!",     "#null!", "#name?", "?",       "??",      "???",           "-nan"};
  std::string lower(field);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return std::find(std::begin(kMarks), std::end(kMarks), lower) != std::end(kMarks);
}

std::string NumberText(float number) { return fmt::format("{}", number); }

}  // namespace motley
