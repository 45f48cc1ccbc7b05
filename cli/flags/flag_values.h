// SPDX-License-Identifier: Apache-2.0
// Validators of flag values. Their errors say which values are possible.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "CLI/CLI.hpp"
#include "fmt/core.h"

namespace motley {

inline constexpr uint32_t kMostCount = 1U << 30;

// Values of --model.
inline constexpr const char* kModelHelp =
    "softmax (classes), logistic (2 classes), hinge (linear SVM), linear (regression), or"
    "\n  mlp:256,norm,128: hidden layers; norm: layer normalisation"
    "\n  cnn:16,32/128: convolutions of 3 x 3 with pooling, then hidden layers;"
    "\n    on square images of 1 or 3 channels (last), or cnn@28x28x1:16,32"
    "\n  factorization:16: a factorisation machine, for 2 classes or ratings; on"
    "\n    one-hot users and items it is matrix factorisation with biases";

// Adds a flag with one value that may be given once.
template <typename T>
CLI::Option* AddValue(CLI::App* app, const char* name, T& value, const char* type,
                      const std::string& help) {
  return app->add_option(name, value, help)->type_name(type)->capture_default_str();
}

// Checks the decimal text of a number. `range` describes the possible values in errors. The
// validator has no description of its own, which would clutter --help.
template <typename T>
CLI::Validator Fits(std::function<bool(T)> fits, const std::string& range) {
  const auto check = [fits = std::move(fits), range](std::string& text) -> std::string {
    T value{};
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error == std::errc() && stop == end && fits(value)) {
      // CLI11 itself would read 010 as an octal number.
      if constexpr (std::is_integral_v<T>) text = fmt::format("{}", value);
      return "";
    }
    return fmt::format("{} is not {}", text.empty() ? "''" : text, range);
  };
  return CLI::Validator(check, "");
}

template <typename T>
CLI::Validator Within(T least, T most) {
  return Fits<T>([least, most](T value) { return value >= least && value <= most; },
                 fmt::format("a whole number from {} to {}", least, most));
}

inline CLI::Validator Seed() { return Within(uint64_t{0}, std::numeric_limits<uint64_t>::max()); }

inline CLI::Validator Part() {
  return Fits<double>([](double value) { return value > 0 && value < 1; },
                      "a fraction between 0 and 1, ends excluded");
}

// Bytes with a unit, as in 512MiB; KB, KiB and k are 1024 bytes each.
inline CLI::Validator Size() {
  const auto check = [](std::string& text) -> std::string {
    constexpr double kLeast = 1 << 20;
    constexpr double kMost = 1e18;
    constexpr std::string_view kUnits = "kmgtp";
    const std::string wrong = fmt::format(
        "{} is not a size of at least 1MiB: write a number and its unit (MiB, GiB), like 512MiB",
        text.empty() ? "''" : text);
    double value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    const std::string unit = CLI::detail::to_lower(CLI::detail::trim_copy(std::string(stop, end)));
    if (error != std::errc() || unit.empty()) return wrong;
    const size_t power = kUnits.find(unit.front()) + 1;  // 0: no such letter.
    const std::string rest = unit.substr(power > 0 ? 1 : 0);
    if (rest != "b" && (power == 0 || (rest != "" && rest != "ib"))) return wrong;
    value = std::ldexp(value, static_cast<int>(10 * power));
    if (!(value >= kLeast && value <= kMost)) return wrong;
    text = fmt::format("{}", static_cast<uint64_t>(value));
    return "";
  };
  return CLI::Validator(check, "");
}

}  // namespace motley
