// SPDX-License-Identifier: Apache-2.0
// The largest error among many results, and its place.
#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace motley::check {

class ErrorMeter {
 public:
  // Describes the results that follow: "3 x 7 x 1, transposed".
  void At(std::string where) { where_ = std::move(where); }
  // `magnitude` is what the error is relative to, for example the sum of the terms' magnitudes.
  // Subnormal results may be flushed to 0. A NaN instead of a number is an infinite error.
  void Add(double got, double want, double magnitude) {
    ++count_;
    const double error = std::abs(got - want);
    if (error <= kRoom) return;
    constexpr double kWrong = std::numeric_limits<double>::infinity();
    const double relative = magnitude > 0 ? error / magnitude : kWrong;
    if (relative <= worst_) return;
    worst_ = std::isnan(relative) ? kWrong : relative;
    worst_at_ = where_;
  }

  double worst() const { return worst_; }
  const std::string& worst_at() const { return worst_at_; }
  size_t count() const { return count_; }  // Number of results.

 private:
  static constexpr double kRoom = 1e-37;
  std::string where_;
  double worst_ = 0;
  std::string worst_at_;
  size_t count_ = 0;
};

}  // namespace motley::check
