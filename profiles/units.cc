// SPDX-License-Identifier: Apache-2.0
#include "profiles/units.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <span>
#include <system_error>

namespace motley {
namespace {

// A unit has a factor and a divisor, because 0.2 / 1000 is the double nearest to 0.0002 and 0.2 *
// 0.001 is not.
struct Unit {
  std::string_view name;
  double factor;
  double divisor;
};

constexpr Unit kDurations[] = {{"min", 60, 1}, {"s", 1, 1},         {"ms", 1, 1e3},
                               {"us", 1, 1e6}, {"\u00b5s", 1, 1e6}, {"ns", 1, 1e9}};
constexpr Unit kSizes[] = {
    {"B", 1, 1},           {"kB", 1e3, 1},           {"MB", 1e6, 1},
    {"GB", 1e9, 1},        {"TB", 1e12, 1},          {"KiB", 1024.0, 1},
    {"MiB", 1048576.0, 1}, {"GiB", 1073741824.0, 1}, {"TiB", 1099511627776.0, 1}};
constexpr Unit kRates[] = {{"bit/s", 1, 8},           {"kbit/s", 1e3, 8}, {"Mbit/s", 1e6, 8},
                           {"Gbit/s", 1e9, 8},        {"B/s", 1, 1},      {"kB/s", 1e3, 1},
                           {"MB/s", 1e6, 1},          {"GB/s", 1e9, 1},   {"MiB/s", 1048576.0, 1},
                           {"GiB/s", 1073741824.0, 1}};

std::span<const Unit> UnitsOf(Quantity quantity) {
  switch (quantity) {
    case Quantity::kDuration: return kDurations;
    case Quantity::kSize: return kSizes;
    case Quantity::kRate: return kRates;
  }
  return {};
}

std::string_view WordFor(Quantity quantity) {
  switch (quantity) {
    case Quantity::kDuration: return "duration";
    case Quantity::kSize: return "size";
    case Quantity::kRate: return "rate";
  }
  return "";
}

Status NotAQuantity(Quantity quantity, std::string_view text) {
  std::string names;
  for (const Unit& unit : UnitsOf(quantity)) {
    names += names.empty() ? "" : ", ";
    names += unit.name;
  }
  return Status::InvalidArgument(
      fmt::format("'{}' is not a {}; write a number >= 0 followed by one of {}", text,
                  WordFor(quantity), names));
}

}  // namespace

Result<double> ParseQuantity(Quantity quantity, std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number) || number < 0) {
    return NotAQuantity(quantity, text);
  }
  std::string_view rest = text.substr(static_cast<size_t>(end - text.data()));
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  if (rest.empty()) return number;
  for (const Unit& unit : UnitsOf(quantity)) {
    if (unit.name != rest) continue;
    const double value = number * unit.factor / unit.divisor;
    if (std::isfinite(value)) return value;
  }
  return NotAQuantity(quantity, text);
}

std::string FormatQuantity(Quantity quantity, double value) {
  std::string best = fmt::format("{}", value);
  bool with_unit = false;
  for (const Unit& unit : UnitsOf(quantity)) {
    const std::string text = fmt::format("{}{}", value * unit.divisor / unit.factor, unit.name);
    const Result<double> back = ParseQuantity(quantity, text);
    if (!back.ok() || *back != value) continue;
    if (!with_unit || text.size() < best.size()) best = text;
    with_unit = true;
  }
  return best;
}

}  // namespace motley
