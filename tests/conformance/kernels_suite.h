// SPDX-License-Identifier: Apache-2.0
// What every table of kernels must do, against straightforward float64 references. A test program
// includes this once and instantiates KernelsSuite with a KernelsCase per driver and queue.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "tests/conformance/kernel_rig.h"

namespace motley::conformance {

struct KernelsCase {
  std::string name;
  std::string why_not;  // Why the driver cannot be used here; empty when it can.
  std::function<std::unique_ptr<KernelRig>()> make;
};

inline std::ostream& operator<<(std::ostream& out, const KernelsCase& c) { return out << c.name; }

inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class KernelsSuite : public ::testing::TestWithParam<KernelsCase> {
 protected:
  void SetUp() override {
    if (!GetParam().why_not.empty()) GTEST_SKIP() << GetParam().why_not;
    rig_ = GetParam().make();
    queue_ = rig_->queue();
  }
  const motley_kernels& table() const { return rig_->table(); }
  Operand<float> Store(const std::vector<float>& values) { return {*rig_, values}; }
  std::vector<float> Values(size_t count, double low = -1, double high = 1) {
    return RandomValues(random_, count, low, high);
  }

  struct Shape {
    size_t m, n, k;
  };
  void CheckGemm(const Shape& shape, bool transpose_a, bool transpose_b, float alpha, float beta,
                 double low = -1);
  void CheckCsr(const HostCsr& host, size_t n, float alpha, float beta);
  void CheckCsrTransposed(const HostCsr& host, size_t n, float alpha);

  std::unique_ptr<KernelRig> rig_;
  void* queue_ = nullptr;
  Random random_{11, Stream::kTest};
};

// Within 1e-5 of the sum of magnitudes, with room for results that are not normal numbers.
inline bool Close(float got, double want, double magnitude) {
  return std::abs(got - want) <= 1e-5 * magnitude + 1e-37;
}

inline void KernelsSuite::CheckGemm(const Shape& shape, bool transpose_a, bool transpose_b,
                                    float alpha, float beta, double low) {
  const auto [m, n, k] = shape;
  const auto a = Values(m * k, low);
  const auto b = Values(k * n, low);
  const auto c = beta == 0 ? std::vector<float>(m * n, kNan) : Values(m * n);
  const auto a_stored = Store(a);
  const auto b_stored = Store(b);
  const auto c_stored = Store(c);
  table().gemm(queue_, transpose_a, transpose_b, m, n, k, alpha, a_stored, b_stored, beta,
               c_stored);
  const auto got = c_stored.Read();
  for (size_t i = 0; i < m && !HasFailure(); ++i) {
    for (size_t j = 0; j < n && !HasFailure(); ++j) {
      double want = beta == 0 ? 0 : double{beta} * c[i * n + j];
      double magnitude = std::abs(want);
      for (size_t l = 0; l < k; ++l) {
        const double term = double{alpha} * (transpose_a ? a[l * m + i] : a[i * k + l]) *
                            (transpose_b ? b[j * k + l] : b[l * n + j]);
        want += term;
        magnitude += std::abs(term);
      }
      EXPECT_TRUE(Close(got[i * n + j], want, magnitude))
          << got[i * n + j] << " for " << want << " at " << i << ", " << j << " of " << m << " x "
          << n << " x " << k << ", transposes " << transpose_a << transpose_b << ", beta " << beta;
    }
  }
}

TEST_P(KernelsSuite, TableSpeaksThisVersion) {
  EXPECT_EQ(table().version, unsigned{MOTLEY_KERNELS_VERSION});
  EXPECT_GE(table().struct_size, sizeof(motley_kernels));
  EXPECT_FALSE(std::string(table().name).empty());
}

TEST_P(KernelsSuite, GemmMatchesReferenceOnAllShapesAndTransposes) {
  std::vector<Shape> shapes = {
      {0, 3, 4},     {3, 0, 4},    {3, 4, 0},     {1, 1, 1},    {1, 7, 5},    {7, 1, 5},
      {1, 300, 70},  {300, 1, 70}, {3, 2, 1},     {33, 10, 64}, {10, 64, 32}, {129, 257, 33},
      {300, 10, 17}, {5, 600, 9},  {260, 3, 400}, {1, 1, 3000}, {16, 16, 16}, {127, 49, 153}};
  for (int i = 0; i < 10; ++i) {
    const size_t m = random_.Below(40);
    const size_t n = random_.Below(40);
    const size_t k = random_.Below(40);
    shapes.push_back({m, n, k});
  }
  constexpr float kScales[][2] = {{1, 0}, {1, 1}, {-0.5f, 2}, {0.25f, 0}};
  for (size_t i = 0; i < shapes.size(); ++i) {
    for (int transposes = 0; transposes < 4; ++transposes) {
      const auto& [alpha, beta] = kScales[(i + transposes) % 4];
      CheckGemm(shapes[i], transposes & 1, transposes & 2, alpha, beta);
    }
  }
}

TEST_P(KernelsSuite, GemmScalesItsResultForEveryAlphaAndBeta) {
  for (const float alpha : {0.0f, 1.0f, -2.5f}) {
    for (const float beta : {0.0f, 1.0f, 0.5f}) {
      for (const Shape& shape : {Shape{5, 6, 7}, Shape{5, 1, 7}, Shape{1, 6, 7}, Shape{5, 6, 0}}) {
        CheckGemm(shape, false, true, alpha, beta);
      }
    }
  }
}

TEST_P(KernelsSuite, GemmKeepsItsPrecisionInLongSums) {
  for (const Shape& shape : {Shape{3, 2, 65536}, Shape{2, 1, 65536}, Shape{1, 3, 65536}}) {
    for (int transposes = 0; transposes < 4; ++transposes) {
      CheckGemm(shape, transposes & 1, transposes & 2, 1, 0, 0.9);
    }
  }
}

inline void KernelsSuite::CheckCsr(const HostCsr& host, size_t n, float alpha, float beta) {
  const DeviceCsr csr(*rig_, host);
  const auto b = Values(host.columns * n);
  const auto c = beta == 0 ? std::vector<float>(host.rows * n, kNan) : Values(host.rows * n);
  const auto b_stored = Store(b);
  const auto c_stored = Store(c);
  table().csr_times_dense(queue_, &csr.view, n, alpha, b_stored, beta, c_stored);
  const auto got = c_stored.Read();
  for (size_t row = 0; row < host.rows; ++row) {
    for (size_t j = 0; j < n && !HasFailure(); ++j) {
      double want = beta == 0 ? 0 : double{beta} * c[row * n + j];
      double magnitude = std::abs(want);
      for (uint64_t e = host.row_begin[row]; e < host.row_begin[row + 1]; ++e) {
        const double term = double{alpha} * host.value[e] * b[host.column[e] * n + j];
        want += term;
        magnitude += std::abs(term);
      }
      EXPECT_TRUE(Close(got[row * n + j], want, magnitude))
          << got[row * n + j] << " for " << want << " at " << row << ", " << j << " of " << n;
    }
  }
}

inline void KernelsSuite::CheckCsrTransposed(const HostCsr& host, size_t n, float alpha) {
  const DeviceCsr csr(*rig_, host);
  const auto b = Values(host.rows * n);
  const auto c = Values(host.columns * n);
  const auto b_stored = Store(b);
  const auto c_stored = Store(c);
  table().csr_transposed_times_dense(queue_, &csr.view, n, alpha, b_stored, c_stored);
  const auto got = c_stored.Read();
  std::vector<double> want(c.begin(), c.end());
  std::vector<double> magnitude(c.size());
  for (size_t i = 0; i < c.size(); ++i) magnitude[i] = std::abs(c[i]);
  for (size_t row = 0; row < host.rows; ++row) {
    for (uint64_t e = host.row_begin[row]; e < host.row_begin[row + 1]; ++e) {
      for (size_t j = 0; j < n; ++j) {
        const double term = double{alpha} * host.value[e] * b[row * n + j];
        want[host.column[e] * n + j] += term;
        magnitude[host.column[e] * n + j] += std::abs(term);
      }
    }
  }
  for (size_t i = 0; i < c.size() && !HasFailure(); ++i) {
    EXPECT_TRUE(Close(got[i], want[i], magnitude[i]))
        << got[i] << " for " << want[i] << " at " << i << " with " << n << " columns";
  }
}

TEST_P(KernelsSuite, SparseProductsMatchReferenceOnAllShapes) {
  struct Case {
    size_t rows, columns;
    double density;
    size_t skipped;
  };
  for (const Case& c :
       {Case{0, 5, 0.5, 0}, Case{4, 0, 0.5, 0}, Case{1, 1, 1, 0}, Case{200, 123, 0.11, 0},
        Case{9, 700, 0.9, 3}, Case{150, 20, 0, 0}, Case{30, 40000, 0.001, 5}}) {
    const HostCsr csr = RandomCsr(random_, c.rows, c.columns, c.density, c.skipped);
    for (const size_t n : {0, 1, 2, 10, 131}) {
      if (c.columns * n > 500000) continue;
      CheckCsr(csr, n, 1, 0);
      CheckCsr(csr, n, -0.5f, 2);
      CheckCsrTransposed(csr, n, 0.75f);
    }
  }
  const HostCsr small = RandomCsr(random_, 11, 40, 0.3);
  CheckCsr(small, 1500, 1, 1);
  CheckCsrTransposed(small, 1500, 1);
}

TEST_P(KernelsSuite, SparseGradientKeepsItsPrecisionWhenAColumnIsInEveryRow) {
  constexpr size_t kRows = 50000;
  HostCsr host{kRows, 1, {0}, std::vector<uint32_t>(kRows, 0), std::vector<float>(kRows, 1.0f)};
  for (size_t row = 0; row < kRows; ++row) host.row_begin.push_back(row + 1);
  const DeviceCsr csr(*rig_, host);
  const auto b = Store(std::vector<float>(kRows, 0.3f));
  const auto c = Store({0.0f});
  table().csr_transposed_times_dense(queue_, &csr.view, 1, 1, b, c);
  EXPECT_NEAR(c.Read()[0], double{0.3f} * kRows, 1e-6 * 0.3 * kRows);
}

TEST_P(KernelsSuite, SparseGradientTouchesOnlyColumnsThatHaveEntries) {
  const HostCsr host{2, 4, {0, 1, 2}, {1, 1}, {2.0f, 3.0f}};
  const DeviceCsr csr(*rig_, host);
  const auto b = Store({1.0f, 1.0f});
  const auto c = Store({-0.0f, 1.0f, kNan, -0.0f});
  table().csr_transposed_times_dense(queue_, &csr.view, 1, 1, b, c);
  const auto got = c.Read();
  EXPECT_TRUE(std::signbit(got[0]) && std::signbit(got[3]) && std::isnan(got[2]));
  EXPECT_EQ(got[1], 6.0f);
}

TEST_P(KernelsSuite, BiasAndColumnSumsMatchReference) {
  for (const auto& [rows, columns] : std::vector<std::pair<size_t, size_t>>{
           {0, 3}, {3, 0}, {1, 1}, {7, 10}, {600, 3}, {33, 300}, {2000, 129}}) {
    const auto bias = Values(columns);
    auto x = Values(rows * columns, 0, 1);
    const auto x_stored = Store(x);
    const auto bias_stored = Store(bias);
    table().add_bias(queue_, rows, columns, bias_stored, x_stored);
    for (size_t i = 0; i < x.size(); ++i) x[i] += bias[i % columns];
    ASSERT_EQ(x_stored.Read(), x);

    const auto sum_stored = Store(bias);
    table().add_column_sums(queue_, rows, columns, -0.5f, x_stored, sum_stored);
    const auto got = sum_stored.Read();
    for (size_t c = 0; c < columns; ++c) {
      double want = bias[c];
      for (size_t r = 0; r < rows; ++r) want += -0.5 * x[r * columns + c];
      ASSERT_NEAR(got[c], want, 1e-6 * std::abs(want) + 1e-6);
    }
  }
}

}  // namespace motley::conformance
