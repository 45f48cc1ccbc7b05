// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/signs.h"
#include "base/unit_masks.h"
#include "devices/check/checks.h"

namespace motley::check {
namespace {

std::vector<std::pair<size_t, size_t>> Matrices(const CheckRun& run) {
  std::vector<std::pair<size_t, size_t>> shapes = {{0, 3},   {3, 0},    {1, 1},     {7, 10},
                                                   {600, 3}, {33, 300}, {2000, 129}};
  if (run.large) shapes.emplace_back(2100, 2003);
  return shapes;
}

// `each(i)` returns the expected value and the magnitude that its error is relative to.
template <typename Each>
void Compare(CheckRun& run, const std::vector<float>& got, Each each) {
  run.meter.At(fmt::format("{} values", got.size()));
  for (size_t i = 0; i < got.size(); ++i) {
    const auto [want, magnitude] = each(i);
    run.meter.Add(got[i], want, magnitude);
  }
}

using Wanted = std::pair<double, double>;

// IEEE 754: a sign bit, an exponent, and `fraction` bits.
double Meaning(uint16_t bits, int fraction) {
  const int ones = bits & ((1 << fraction) - 1);
  const int exponent = (bits & 0x7fff) >> fraction;
  const int bias = (1 << (14 - fraction)) - 1;
  const int whole = exponent > 0 ? 1 << fraction : 0;
  const double magnitude = std::ldexp(whole + ones, std::max(exponent, 1) - bias - fraction);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

// Checks all numbers. Infinities and NaN are left out, since they have no error.
void CheckWiden(CheckRun& run, int format, int fraction) {
  const int infinite = 0x7fff >> fraction << fraction;
  for (const size_t count : run.Counts()) {
    std::vector<uint16_t> x(count);
    for (size_t i = 0; i < count; ++i) {
      const auto bits = static_cast<uint16_t>(i * 40'503 + 1);
      x[i] = (bits & infinite) == infinite ? static_cast<uint16_t>(bits ^ infinite) : bits;
    }
    const auto stored = run.Store(run.Values(count));
    run.table().widen(run.queue(), count, format, Operand<uint16_t>(run.rig, x), stored);
    Compare(run, stored.Read(), [&](size_t i) -> Wanted {
      const double want = Meaning(x[i], fraction);
      return {want, std::abs(want)};
    });
  }
}

}  // namespace

void CheckAddBias(CheckRun& run) {
  for (const auto& [rows, columns] : Matrices(run)) {
    const auto bias = run.Values(columns);
    const auto x = run.Values(rows * columns);
    const auto x_stored = run.Store(x);
    run.table().add_bias(run.queue(), rows, columns, run.Store(bias), x_stored);
    Compare(run, x_stored.Read(), [&, columns = columns](size_t i) -> Wanted {
      const double b = bias[i % columns];
      return {x[i] + b, std::abs(x[i]) + std::abs(b)};
    });
  }
}

void CheckAddColumnSums(CheckRun& run) {
  for (const auto& [rows, columns] : Matrices(run)) {
    const auto x = run.Values(rows * columns);
    const auto sum = run.Values(columns);
    const auto sum_stored = run.Store(sum);
    run.table().add_column_sums(run.queue(), rows, columns, -0.5f, run.Store(x), sum_stored);
    const auto got = sum_stored.Read();
    run.meter.At(fmt::format("{} x {}", rows, columns));
    for (size_t c = 0; c < columns; ++c) {
      double want = sum[c];
      double magnitude = std::abs(want);
      for (size_t r = 0; r < rows; ++r) {
        want += -0.5 * x[r * columns + c];
        magnitude += std::abs(0.5 * x[r * columns + c]);
      }
      run.meter.Add(got[c], want, magnitude);
    }
  }
}

void CheckRelu(CheckRun& run) {
  for (const size_t count : run.Counts()) {
    const auto x = run.Values(count);
    const auto stored = run.Store(x);
    run.table().relu(run.queue(), count, stored);
    Compare(run, stored.Read(), [&](size_t i) -> Wanted { return {std::max(x[i], 0.0f), 1}; });
  }
}

void CheckReluBackward(CheckRun& run) {
  for (const size_t count : run.Counts()) {
    auto activation = run.Values(count);
    for (float& value : activation) value = std::max(value, 0.0f);
    const auto delta = run.Values(count);
    const auto stored = run.Store(delta);
    run.table().relu_backward(run.queue(), count, run.Store(activation), stored);
    Compare(run, stored.Read(), [&](size_t i) -> Wanted {
      return {activation[i] > 0 ? delta[i] : 0.0f, 1};
    });
  }
}

void CheckDropout(CheckRun& run) {
  constexpr uint32_t kDropped = 1288490189;  // 0.3 of all words.
  constexpr float kScale = 1 / 0.7f;
  for (const auto& [rows, columns] : Matrices(run)) {
    const auto x = run.Values(rows * columns);
    std::vector<uint32_t> sample(rows);
    for (uint32_t& number : sample) number = run.random.Next32();
    const uint64_t key = run.random.Next64();
    const auto stored = run.Store(x);
    run.table().dropout(run.queue(), rows, columns, Operand<uint32_t>(run.rig, sample), key,
                        kDropped, kScale, stored);
    Compare(run, stored.Read(), [&, columns = columns](size_t i) -> Wanted {
      const auto unit = static_cast<uint32_t>(i % columns);
      const MaskWords words = MaskWordsOf(key, sample[i / columns], unit / kMaskUnits);
      const bool stays = words.word[unit % kMaskUnits] >= kDropped;
      return {stays ? double{kScale} * x[i] : 0, std::abs(double{x[i]})};
    });
  }
}

void CheckAxpy(CheckRun& run) {
  for (const size_t count : run.Counts()) {
    const auto x = run.Values(count);
    const auto y = run.Values(count);
    const auto stored = run.Store(y);
    run.table().axpy(run.queue(), count, 0.75f, run.Store(x), stored);
    Compare(run, stored.Read(), [&](size_t i) -> Wanted {
      return {y[i] + 0.75 * x[i], std::abs(y[i]) + std::abs(0.75 * x[i])};
    });
  }
}

void CheckFill(CheckRun& run) {
  for (const size_t count : run.Counts()) {
    const auto stored = run.Store(run.Values(count));
    run.table().fill(run.queue(), count, -3.5f, stored);
    Compare(run, stored.Read(), [](size_t) -> Wanted { return {-3.5, 1}; });
  }
}

void CheckScale(CheckRun& run) {
  for (const size_t count : run.Counts()) {
    const auto x = run.Values(count);
    const auto stored = run.Store(x);
    run.table().scale(run.queue(), count, 0.7f, stored);
    Compare(run, stored.Read(), [&](size_t i) -> Wanted {
      const double want = double{0.7f} * x[i];
      return {want, std::abs(want)};
    });
  }
}

void CheckScalePairs(CheckRun& run) {
  constexpr float kRe = 0.7f, kIm = -1.3f;
  for (const size_t half : run.Counts()) {
    const auto x = run.Values(2 * half);
    const auto stored = run.Store(x);
    run.table().scale_pairs(run.queue(), x.size(), kRe, kIm, stored);
    Compare(run, stored.Read(), [&](size_t i) -> Wanted {
      const double own = double{kRe} * x[i];
      const double other = (i % 2 == 0 ? -1 : 1) * double{kIm} * x[i ^ 1];
      return {own + other, std::abs(own) + std::abs(other)};
    });
  }
}

void CheckWidenFp16(CheckRun& run) { CheckWiden(run, MOTLEY_FP16, 10); }

void CheckWidenBf16(CheckRun& run) { CheckWiden(run, MOTLEY_BF16, 7); }

void CheckSumOfSquares(CheckRun& run) {
  for (const size_t count : run.Counts()) {
    const auto x = run.Values(count, 0, 1e15);
    long double want = 0;  // In double, the error would be this sum's.
    for (const float value : x) want += double{value} * value;
    const Operand<double> sum(run.rig, {-1.0});
    run.table().sum_of_squares(run.queue(), count, run.Store(x), sum);
    run.meter.At(fmt::format("{} values", count));
    run.meter.Add(sum.Read()[0], static_cast<double>(want), static_cast<double>(want));
  }
}

// The error of the projection is relative to the 2-norm, which is its mean size.
void CheckSketch(CheckRun& run) {
  for (const size_t count : run.Counts()) {
    const auto x = run.Values(count);
    const uint64_t seed = run.random.Next64();
    const SignKey key = SignKeyOf(seed);
    long double squares = 0;
    long double projection = 0;
    for (size_t i = 0; i < count; ++i) {
      const double value = x[i];
      squares += value * value;
      projection += SignOf(key, i) != 0 ? -value : value;
    }
    const Operand<double> sums(run.rig, {-1.0, -1.0});
    run.table().sketch(run.queue(), count, seed, run.Store(x), sums);
    const auto got = sums.Read();
    run.meter.At(fmt::format("squares of {} values", count));
    run.meter.Add(got[0], static_cast<double>(squares), static_cast<double>(squares));
    run.meter.At(fmt::format("projection of {} values", count));
    run.meter.Add(got[1], static_cast<double>(projection), std::sqrt(static_cast<double>(squares)));
  }
}

}  // namespace motley::check
