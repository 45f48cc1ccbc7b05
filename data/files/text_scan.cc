// SPDX-License-Identifier: Apache-2.0
#include "data/files/text_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>

namespace motley {

LineScanner::LineScanner(std::string_view text) : rest_(text) {
  if (rest_.starts_with("\xEF\xBB\xBF")) rest_.remove_prefix(3);
}

bool LineScanner::Next(std::string_view& line) {
  if (rest_.empty()) return false;
  const size_t end = rest_.find('\n');
  line = rest_.substr(0, end);
  rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  ++number_;
  return true;
}

Result<bool> LineReader::Next(std::string_view& line) {
  const Result<bool> more = stream_.NextLine(line);
  if (!more.ok() && stream_.InLongLine()) {
    return more.status().WithContext(fmt::format("{}:{}", path_, number_ + 1));
  }
  if (!more.ok() || !*more) return more;
  if (number_++ == 0 && line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
  return true;
}

std::string_view Trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

namespace {

// For a decimal number outside a double's range: true if it is too small, false if too large.
bool IsBelowOne(std::string_view number) {
  const size_t e = number.find_first_of("eE");
  const std::string_view digits = number.substr(0, e);
  const size_t first = digits.find_first_of("123456789");
  if (first == std::string_view::npos) return true;
  const auto point = static_cast<int64_t>(std::min(digits.find('.'), digits.size()));
  const auto place = static_cast<int64_t>(first);  // Exponents of 0.1 and 1.0 are -1 and 0.
  int64_t exponent = place > point ? point - place : point - place - 1;
  if (e == std::string_view::npos) return exponent < 0;
  std::string_view written = number.substr(e + 1);
  if (written.starts_with('+')) written.remove_prefix(1);
  int64_t shift = 0;
  const auto end = written.data() + written.size();
  if (std::from_chars(written.data(), end, shift).ec != std::errc()) {
    return written.starts_with('-');  // No number of digits can outweigh such an exponent.
  }
  constexpr int64_t kFar = int64_t{1} << 60;
  exponent += std::clamp(shift, -kFar, kFar);
  return exponent < 0;
}

}  // namespace

Result<double> ParseNumber(std::string_view text) {
  std::string_view digits = text;
  if (digits.starts_with('+') && !digits.starts_with("+-")) digits.remove_prefix(1);
  double value = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value);
  if (text.empty()) return Status::DataError("a value is missing");
  if (error == std::errc::invalid_argument || stop != end) {
    return Status::DataError(Quoted(text) + " is not a number");
  }
  if (error == std::errc::result_out_of_range && IsBelowOne(digits)) return 0.0;
  if (error != std::errc() || !(std::abs(value) <= std::numeric_limits<float>::max())) {
    return Status::DataError(Quoted(text) + " is not a finite number that a float can hold");
  }
  return value;
}

std::string Quoted(std::string_view text) {
  constexpr size_t kShown = 24;
  std::string shown(text.substr(0, kShown));
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < 32 || c == 127) c = '?';
  }
  return fmt::format("'{}{}'", shown, text.size() > kShown ? "..." : "");
}

}  // namespace motley
