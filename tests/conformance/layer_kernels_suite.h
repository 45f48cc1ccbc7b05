// SPDX-License-Identifier: Apache-2.0
// More of KernelsSuite: the kernels of layers, on images and on rows.
#pragma once

#include <algorithm>
#include <cmath>

#include "tests/conformance/kernels_suite.h"

namespace motley::conformance {

// True within 1e-5 of the sum of magnitudes.
inline bool Close(float got, double want, double magnitude) {
  return std::abs(got - want) <= 1e-5 * magnitude;
}

// `kernel`, `stride` and `padding` are for both directions; `kernel_width` overrides the width.
inline motley_window MakeWindow(uint32_t height, uint32_t width, uint32_t channels, uint32_t kernel,
                                uint32_t stride, uint32_t padding, uint32_t kernel_width = 0) {
  motley_window w{height, width,   channels, kernel, kernel_width == 0 ? kernel : kernel_width,
                  stride, padding, 0,        0};
  w.out_height = (height + 2 * padding - w.kernel_height) / stride + 1;
  w.out_width = (width + 2 * padding - w.kernel_width) / stride + 1;
  return w;
}

inline std::vector<motley_window> Windows(Random& random) {
  std::vector<motley_window> windows = {
      MakeWindow(1, 1, 1, 1, 1, 0),    MakeWindow(5, 7, 3, 3, 1, 1),   MakeWindow(8, 8, 1, 3, 1, 1),
      MakeWindow(4, 4, 5, 5, 1, 2),    MakeWindow(3, 3, 1, 3, 3, 0),   MakeWindow(2, 3, 3, 1, 2, 0),
      MakeWindow(9, 6, 2, 3, 2, 1, 2), MakeWindow(7, 3, 4, 2, 3, 2, 4)};
  for (int i = 0; i < 8; ++i) {
    const auto padding = static_cast<uint32_t>(random.Below(3));
    const auto kernel = static_cast<uint32_t>(1 + random.Below(4));
    const auto height = static_cast<uint32_t>(kernel + random.Below(8));
    const auto width = static_cast<uint32_t>(kernel + random.Below(8));
    const auto channels = static_cast<uint32_t>(1 + random.Below(20));
    const auto stride = static_cast<uint32_t>(1 + random.Below(3));
    windows.push_back(MakeWindow(height, width, channels, kernel, stride, padding));
  }
  return windows;
}

inline size_t ImageValues(const motley_window& w) {
  return size_t{w.height} * w.width * w.channels;
}
inline size_t PatchValues(const motley_window& w) {
  return size_t{w.out_height} * w.out_width * w.kernel_height * w.kernel_width * w.channels;
}

// The source of each value of the patches in the images; SIZE_MAX for the padding.
inline std::vector<size_t> SourcesOfPatches(const motley_window& w, size_t rows) {
  std::vector<size_t> sources;
  for (size_t row = 0; row < rows; ++row) {
    for (uint32_t window = 0; window < w.out_height * w.out_width; ++window) {
      for (uint32_t k = 0; k < w.kernel_height * w.kernel_width; ++k) {
        const int64_t y = int64_t{window / w.out_width * w.stride + k / w.kernel_width} - w.padding;
        const int64_t x = int64_t{window % w.out_width * w.stride + k % w.kernel_width} - w.padding;
        const bool inside = y >= 0 && y < w.height && x >= 0 && x < w.width;
        const size_t pixel =
            (row * w.height + static_cast<size_t>(y)) * w.width + static_cast<size_t>(x);
        for (size_t c = 0; c < w.channels; ++c) {
          sources.push_back(inside ? pixel * w.channels + c : SIZE_MAX);
        }
      }
    }
  }
  return sources;
}

inline void CheckWindow(KernelRig& rig, Random& random, const motley_window& w, size_t rows) {
  auto images = RandomValues(random, rows * ImageValues(w));
  if (!images.empty()) images[random.Below(images.size())] = kNan;
  const auto sources = SourcesOfPatches(w, rows);
  const Operand<float> stored(rig, images);
  const Operand<float> patches(rig, std::vector<float>(rows * PatchValues(w), 7.0f));
  rig.table().im2col(rig.queue(), &w, rows, stored, patches);
  const auto got = patches.Read();
  ASSERT_EQ(got.size(), sources.size());
  for (size_t i = 0; i < got.size(); ++i) {
    const float want = sources[i] == SIZE_MAX ? 0 : images[sources[i]];
    ASSERT_TRUE(got[i] == want || (std::isnan(got[i]) && std::isnan(want))) << i;
  }
  const auto deltas = RandomValues(random, rows * PatchValues(w));
  std::vector<double> want(images.begin(), images.end());
  std::vector<double> magnitude(images.size(), 1);
  for (size_t i = 0; i < sources.size(); ++i) {
    if (sources[i] == SIZE_MAX) continue;
    want[sources[i]] += deltas[i];
    magnitude[sources[i]] += std::abs(deltas[i]);
  }
  rig.table().col2im(rig.queue(), &w, rows, Operand<float>(rig, deltas), stored);
  const auto sums = stored.Read();
  for (size_t i = 0; i < sums.size(); ++i) {
    ASSERT_TRUE(std::isnan(want[i]) ? std::isnan(sums[i]) : Close(sums[i], want[i], magnitude[i]))
        << sums[i] << " for " << want[i] << " at " << i;
  }
}

TEST_P(KernelsSuite, PatchesOfImagesMatchReferenceForAllWindows) {
  for (const motley_window& window : Windows(random_)) {
    for (const size_t rows : {0, 1, 13}) CheckWindow(*rig_, random_, window, rows);
  }
}

TEST_P(KernelsSuite, PatchesOfMoreThanOneLaunchAreDoneWhole) {
  CheckWindow(*rig_, random_, MakeWindow(64, 64, 3, 3, 1, 1), 40);
}

TEST_P(KernelsSuite, NanOfAPatchReachesTheImage) {
  const motley_window w = MakeWindow(3, 3, 1, 3, 1, 1);
  std::vector<float> patches(PatchValues(w), 0.0f);
  patches[4 * 9 + 8] = kNan;  // The middle window's value of the last pixel.
  const auto images = Store(std::vector<float>(9, 1.0f));
  table().col2im(queue_, &w, 1, Store(patches), images);
  const auto got = images.Read();
  EXPECT_TRUE(std::isnan(got[8]));
  EXPECT_EQ(std::vector<float>(got.begin(), got.begin() + 8), std::vector<float>(8, 1.0f));
}

inline void CheckPool(KernelRig& rig, const motley_window& w, size_t rows,
                      const std::vector<float>& images, const std::vector<float>& delta) {
  const size_t outs = rows * w.out_height * w.out_width * w.channels;
  std::vector<float> want(outs);
  std::vector<float> want_delta(images.size(), 0.0f);
  for (size_t i = 0; i < outs; ++i) {
    const size_t pixel = i / w.channels;
    const size_t oy = pixel / w.out_width % w.out_height;
    const size_t row = pixel / w.out_width / w.out_height;
    size_t winner = SIZE_MAX;
    for (size_t k = 0; k < size_t{w.stride} * w.stride; ++k) {
      const size_t y = oy * w.stride + k / w.stride;
      const size_t x = pixel % w.out_width * w.stride + k % w.stride;
      const size_t at = ((row * w.height + y) * w.width + x) * w.channels + i % w.channels;
      const bool first = winner == SIZE_MAX;
      if (first || images[at] > images[winner] ||
          (std::isnan(images[at]) && !std::isnan(images[winner]))) {
        winner = at;
      }
    }
    want[i] = images[winner];
    want_delta[winner] = delta[i];
  }
  const Operand<float> stored(rig, images), out(rig, std::vector<float>(outs, 7.0f));
  const Operand<float> back(rig, std::vector<float>(images.size(), kNan));
  rig.table().max_pool(rig.queue(), &w, rows, stored, out);
  rig.table().max_pool_backward(rig.queue(), &w, rows, stored, Operand<float>(rig, delta), back);
  const auto got = out.Read();
  for (size_t i = 0; i < outs; ++i) {
    ASSERT_TRUE(got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i]))) << i;
  }
  ASSERT_EQ(back.Read(), want_delta);
}

TEST_P(KernelsSuite, PoolingFindsTheFirstOfTheLargestValues) {
  const motley_window windows[] = {MakeWindow(1, 1, 1, 1, 1, 0), MakeWindow(8, 8, 16, 2, 2, 0),
                                   MakeWindow(5, 7, 3, 2, 2, 0), MakeWindow(9, 11, 5, 3, 3, 0),
                                   MakeWindow(4, 4, 1, 4, 4, 0), MakeWindow(3, 2, 40, 2, 2, 0)};
  for (const motley_window& w : windows) {
    for (const size_t rows : {0, 1, 19}) {
      // Few distinct values, so that some are equal; some values are NaN.
      auto images = Values(rows * ImageValues(w), -2, 2);
      for (float& value : images) value = std::round(value);
      for (float& value : images) value = random_.Chance(0.05) ? kNan : value;
      const auto delta = Values(rows * w.out_height * w.out_width * w.channels);
      CheckPool(*rig_, w, rows, images, delta);
    }
  }
}

TEST_P(KernelsSuite, PoolingOfMoreThanOneLaunchIsDoneWhole) {
  const motley_window w = MakeWindow(65, 64, 33, 1, 1, 0);
  const auto images = Values(32 * ImageValues(w));
  CheckPool(*rig_, w, 32, images, images);
}

TEST_P(KernelsSuite, PoolingOfImagesSmallerThanTheWindowLeavesZeros) {
  const motley_window w{1, 1, 2, 2, 2, 2, 0, 0, 0};
  CheckPool(*rig_, w, 3, Values(6), {});
}

inline constexpr std::pair<size_t, size_t> kRowShapes[] = {
    {0, 5}, {1, 1}, {7, 10}, {3000, 3}, {33, 300}, {5, 3001}, {1025, 64}};

TEST_P(KernelsSuite, RowSumsAndScaledRowsMatchReference) {
  for (const auto& [rows, columns] : kRowShapes) {
    const auto x = Values(rows * columns, 0, 1);
    auto sum = Values(rows);
    const auto factor = sum;
    const auto x_stored = Store(x), sum_stored = Store(sum), factor_stored = Store(factor);
    table().add_row_sums(queue_, rows, columns, -0.5f, x_stored, sum_stored);
    table().scale_rows(queue_, rows, columns, factor_stored, x_stored, x_stored);
    const auto got = sum_stored.Read(), scaled = x_stored.Read();
    for (size_t row = 0; row < rows; ++row) {
      double want = sum[row];
      for (size_t c = 0; c < columns; ++c) {
        want -= 0.5 * x[row * columns + c];
        ASSERT_EQ(scaled[row * columns + c], factor[row] * x[row * columns + c]);
      }
      ASSERT_NEAR(got[row], want, 1e-6 * std::abs(want) + 1e-7) << row << " of " << columns;
    }
  }
  const auto x = Store({1.0f, kNan, 2.0f, 3.0f}), sum = Store({0.0f, 0.0f});
  table().add_row_sums(queue_, 2, 2, 1, x, sum);
  EXPECT_TRUE(std::isnan(sum.Read()[0]));
  EXPECT_EQ(sum.Read()[1], 5);
  table().scale_rows(queue_, 2, 2, Store({1.0f, kNan}), x, x);
  EXPECT_EQ(x.Read()[0], 1);
  EXPECT_TRUE(std::isnan(x.Read()[1]) && std::isnan(x.Read()[2]) && std::isnan(x.Read()[3]));
  table().add_row_sums(queue_, 2, 0, 1, x, sum);
  EXPECT_EQ(sum.Read()[1], 5);
}

TEST_P(KernelsSuite, ProductsOfValuesMatchReference) {
  for (const size_t count : {0, 1, 7, 33, 100001}) {
    const auto a = Values(count), b = Values(count);
    const auto a_stored = Store(a), y = Store(std::vector<float>(count, kNan));
    table().multiply(queue_, count, a_stored, Store(b), y);
    table().multiply(queue_, count, a_stored, a_stored, a_stored);
    const auto got = y.Read(), squares = a_stored.Read();
    for (size_t i = 0; i < count; ++i) {
      ASSERT_EQ(got[i], a[i] * b[i]);
      ASSERT_EQ(squares[i], a[i] * a[i]);
    }
  }
  const auto y = Store({0.0f});
  table().multiply(queue_, 1, Store({kNan}), y, y);
  EXPECT_TRUE(std::isnan(y.Read()[0]));
}

TEST_P(KernelsSuite, LayerNormMatchesReferenceFarFromZero) {
  constexpr float kEpsilon = 1e-5f;
  for (const auto& [rows, columns] : kRowShapes) {
    const auto x = Values(rows * columns, 999, 1001);
    const auto gain = Values(columns), bias = Values(columns);
    const auto normal = Store(x), inverse = Store(std::vector<float>(rows, kNan));
    const auto out = Store(std::vector<float>(rows * columns, kNan));
    table().layer_norm(queue_, rows, columns, kEpsilon, Store(gain), Store(bias), normal, inverse,
                       out);
    const auto got = out.Read(), got_normal = normal.Read(), got_inverse = inverse.Read();
    for (size_t row = 0; row < rows; ++row) {
      double mean = 0, variance = 0;
      for (size_t c = 0; c < columns; ++c) mean += x[row * columns + c] / double(columns);
      for (size_t c = 0; c < columns; ++c) {
        variance += std::pow(x[row * columns + c] - mean, 2) / double(columns);
      }
      const double want_inverse = 1 / std::sqrt(variance + kEpsilon);
      ASSERT_NEAR(got_inverse[row], want_inverse, 1e-6 * want_inverse);
      for (size_t c = 0; c < columns; ++c) {
        const double want = (x[row * columns + c] - mean) * want_inverse;
        ASSERT_NEAR(got_normal[row * columns + c], want, 1e-6);
        ASSERT_NEAR(got[row * columns + c], gain[c] * want + bias[c], 2e-6);
      }
    }
  }
}

TEST_P(KernelsSuite, LayerNormBackwardMatchesReference) {
  for (const auto& [rows, columns] : kRowShapes) {
    const auto gain = Values(columns), normal = Values(rows * columns, -2, 2);
    const auto delta = Values(rows * columns), inverse = Values(rows, 0.5, 2);
    const auto normal_stored = Store(normal), delta_stored = Store(delta);
    table().layer_norm_backward(queue_, rows, columns, Store(gain), Store(inverse), normal_stored,
                                delta_stored);
    const auto got = delta_stored.Read(), products = normal_stored.Read();
    for (size_t row = 0; row < rows; ++row) {
      double sum = 0, along = 0;
      for (size_t c = 0; c < columns; ++c) {
        const size_t i = row * columns + c;
        sum += double{gain[c]} * delta[i];
        along += double{gain[c]} * delta[i] * normal[i];
      }
      for (size_t c = 0; c < columns; ++c) {
        const size_t i = row * columns + c;
        const double rest =
            double{gain[c]} * delta[i] - (sum + along * normal[i]) / static_cast<double>(columns);
        ASSERT_NEAR(got[i], inverse[row] * rest, 2e-6) << row << ", " << c << " of " << columns;
        ASSERT_EQ(products[i], delta[i] * normal[i]);
      }
    }
  }
}

TEST_P(KernelsSuite, LayerNormShowsNanInItsRowAlone) {
  const auto x = Store({1.0f, kNan, 3.0f, 1.0f, 2.0f, 3.0f}), gain = Store({1.0f, 1.0f, 1.0f});
  const auto out = Store(std::vector<float>(6, 0.0f)), inverse = Store({0.0f, 0.0f});
  table().layer_norm(queue_, 2, 3, 1e-5f, gain, gain, x, inverse, out);
  const auto got = out.Read();
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(std::isnan(got[i]), i < 3) << i;
  const auto delta = Store({1.0f, 1.0f, 1.0f, 1.0f, kNan, 1.0f});
  table().layer_norm_backward(queue_, 2, 3, gain, inverse, x, delta);
  for (const float value : delta.Read()) EXPECT_TRUE(std::isnan(value));
  table().layer_norm(queue_, 2, 0, 1e-5f, gain, gain, x, inverse, out);
}

TEST_P(KernelsSuite, HingeLossMatchesReferenceUpToExtremeOutputs) {
  const std::vector<float> x = {0, 1, -1, 0.5f, -0.5f, 1e30f, -1e30f, 1e30f, 2, -2};
  const std::vector<float> label = {1, 1, 1, 0, 0, 1, 1, 0, 0, -1};
  const auto x_stored = Store(x);
  const Operand<double> loss(*rig_, {1.0});
  table().hinge_loss(queue_, x.size(), Store(label), nullptr, x_stored, loss);
  const auto got = x_stored.Read();
  double want_loss = 1;
  for (size_t i = 0; i < x.size(); ++i) {
    const double y = label[i] > 0.5f ? 1 : -1;
    want_loss += std::max(0.0, 1 - y * x[i]);
    EXPECT_EQ(got[i], 1 - y * x[i] > 0 ? -y : 0) << "x " << x[i];
  }
  EXPECT_NEAR(loss.Read()[0], want_loss, 1e-12 * want_loss);
  for (const size_t rows : {size_t{0}, size_t{1}, size_t{100001}}) {
    const auto many = Values(rows, -2, 2), labels = Values(rows);
    double want = 0;
    for (size_t i = 0; i < rows; ++i) {
      want += std::max(0.0, 1 - (labels[i] > 0.5f ? 1.0 : -1.0) * many[i]);
    }
    const Operand<double> sum(*rig_, {0.0});
    table().hinge_loss(queue_, rows, Store(labels), nullptr, Store(many), sum);
    EXPECT_NEAR(sum.Read()[0], want, 1e-9 * want);
  }
  const auto bad = Store({kNan});
  table().hinge_loss(queue_, 1, bad, nullptr, bad, loss);
  EXPECT_TRUE(std::isnan(loss.Read()[0]) && std::isnan(bad.Read()[0]));
}

}  // namespace motley::conformance
