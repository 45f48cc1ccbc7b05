// SPDX-License-Identifier: Apache-2.0
#include "api/request/parse.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include "fmt/core.h"

namespace motley {
namespace {

// The number at the start of `text`, and the rest of the text.
std::optional<std::pair<double, std::string_view>> LeadingNumber(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
  return std::pair(value, text.substr(end - text.data()));
}

Status CheckSpeeds(std::string_view flag, std::string_view text, std::span<const double> speeds) {
  constexpr double kLeast = 1e-3;
  constexpr double kMost = 1e6;
  constexpr double kMostRatio = 1000;
  const auto [slowest, fastest] = std::minmax_element(speeds.begin(), speeds.end());
  if (*slowest < kLeast || *fastest > kMost) {
    return Status::InvalidArgument(
        fmt::format("{} {}: speeds are relative and lie between {} and {:g}. Scale all of them "
                    "alike, so that the fastest is 1",
                    flag, text, kLeast, kMost));
  }
  if (*fastest > kMostRatio * *slowest * (1 + 1e-12)) {  // Rounding must not refuse 1 and 0.001.
    return Status::InvalidArgument(
        fmt::format("{} {}: the fastest worker ({}) is more than {} times as fast as the slowest "
                    "({}). Leave such slow workers out",
                    flag, text, *fastest, kMostRatio, *slowest));
  }
  return Status::Ok();
}

}  // namespace

Result<std::vector<double>> ParseSpeeds(std::string_view flag, std::string_view text) {
  std::vector<double> speeds;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    const auto number = LeadingNumber(part);
    if (!number || !number->second.empty() || number->first <= 0) {
      return Status::InvalidArgument(
          fmt::format("{} {}: part {} ('{}') is not a speed. Give one positive number per worker, "
                      "separated by commas, like 1,1,0.5",
                      flag, text, speeds.size() + 1, part));
    }
    speeds.push_back(number->first);
    begin = end + 1;
  }
  MOTLEY_RETURN_IF_ERROR(CheckSpeeds(flag, text, speeds));
  return speeds;
}

Result<Duration> ParseDuration(std::string_view flag, std::string_view text, double most_seconds) {
  static constexpr std::pair<std::string_view, double> kUnits[] = {
      {"h", 3600}, {"min", 60}, {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}};
  if (const auto number = LeadingNumber(text)) {
    for (const auto& [unit, seconds] : kUnits) {
      if (number->second != unit) continue;
      const double value = number->first * seconds;
      if (value >= 1e-9 && value <= most_seconds) return FromSeconds(value);
    }
  }
  return Status::InvalidArgument(fmt::format(
      "{} {}: not a time between 1ns and {:.10g}s. Give a number with its unit (h, min, s, "
      "ms, us or ns), like 2ms",
      flag, text, most_seconds));
}

}  // namespace motley
