// SPDX-License-Identifier: Apache-2.0
// Numbers that record how they were computed, so that a result can be differentiated by all inputs
// (reverse mode, in double precision). They give gradients of plain formulas without writing them
// down a second time.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

namespace motley::reference {

// One thread. The numbers of a tape must not outlive it.
class Tape {
 public:
  size_t Add(size_t a, double slope_a, size_t b, double slope_b) {
    steps_.push_back({{a, b}, {slope_a, slope_b}});
    return steps_.size() - 1;
  }
  size_t AddLeaf() { return Add(steps_.size(), 0, steps_.size(), 0); }
  // d(number `of`) / d(number i) for every i.
  std::vector<double> Slopes(size_t of) const {
    std::vector<double> slopes(steps_.size(), 0.0);
    slopes[of] = 1;
    for (size_t i = of + 1; i-- > 0;) {
      for (size_t k = 0; k < 2; ++k) {
        if (steps_[i].from[k] != i) slopes[steps_[i].from[k]] += slopes[i] * steps_[i].slope[k];
      }
    }
    return slopes;
  }

 private:
  struct Step {
    std::array<size_t, 2> from;
    std::array<double, 2> slope;
  };
  std::vector<Step> steps_;
};

struct Traced {
  Tape* tape = nullptr;  // Null: a constant.
  size_t number = 0;
  double value = 0;

  Traced() = default;
  Traced(double constant) : value(constant) {}  // NOLINT(runtime/explicit)
  Traced(Tape& on, double leaf) : tape(&on), number(on.AddLeaf()), value(leaf) {}
  // A result with its slopes by a and by b.
  Traced(const Traced& a, double slope_a, const Traced& b, double slope_b, double result)
      : tape(a.tape != nullptr ? a.tape : b.tape), value(result) {
    if (tape == nullptr) return;
    const size_t first = a.tape != nullptr ? a.number : b.number;
    const size_t second = b.tape != nullptr ? b.number : a.number;
    number =
        tape->Add(first, a.tape != nullptr ? slope_a : 0, second, b.tape != nullptr ? slope_b : 0);
  }
};

inline double ValueOf(double x) { return x; }
inline double ValueOf(const Traced& x) { return x.value; }

inline Traced operator+(const Traced& a, const Traced& b) {
  return {a, 1, b, 1, a.value + b.value};
}
inline Traced operator-(const Traced& a, const Traced& b) {
  return {a, 1, b, -1, a.value - b.value};
}
inline Traced operator*(const Traced& a, const Traced& b) {
  return {a, b.value, b, a.value, a.value * b.value};
}
inline Traced operator/(const Traced& a, const Traced& b) {
  return {a, 1 / b.value, b, -a.value / (b.value * b.value), a.value / b.value};
}
inline Traced Sqrt(const Traced& x) {
  const double root = std::sqrt(x.value);
  return {x, 0.5 / root, x, 0, root};
}
inline Traced Exp(const Traced& x) {
  const double result = std::exp(x.value);
  return {x, result, x, 0, result};
}
inline Traced Log(const Traced& x) { return {x, 1 / x.value, x, 0, std::log(x.value)}; }
inline double Sqrt(double x) { return std::sqrt(x); }
inline double Exp(double x) { return std::exp(x); }
inline double Log(double x) { return std::log(x); }
// The first of equal numbers.
template <typename T>
T Larger(const T& a, const T& b) {
  return ValueOf(b) > ValueOf(a) ? b : a;
}

}  // namespace motley::reference
