// SPDX-License-Identifier: Apache-2.0
#include "training/text_scan.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
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

std::string_view Trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

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
  const bool tiny =
      error == std::errc::result_out_of_range &&
      (digits.find("e-") != std::string_view::npos || digits.find("E-") != std::string_view::npos);
  if (tiny) return 0.0;
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
