// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <vector>

#include "devices/check/checks.h"

namespace motley::check {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Shape {
  size_t m, n, k;
};
struct Product {
  size_t m, n, k;
  bool transpose_a = false, transpose_b = false;
  float alpha = 1, beta = 0;
  double low = -1;     // Least value; above 0, sums grow without cancelling.
  float constant = 0;  // Every term, unless it is 0.
};

// Constants with multiples that round to the same side for long: equal terms lose the most
// precision in chains of 512, 1024, 8192 and 65,536.
constexpr float kHardConstants[] = {0.0137f, 0.5063019f, 0.5343f, 0.8076324f, 0.9871063f};

// Factors with products of `constant`, or random ones from `low` up.
std::vector<float> Factors(CheckRun& run, size_t count, double low, float constant) {
  return constant == 0 ? run.Values(count, low) : std::vector<float>(count, constant);
}

void CompareGemm(CheckRun& run, const Product& p) {
  const auto a = Factors(run, p.m * p.k, p.low, p.constant);
  const auto b = Factors(run, p.k * p.n, p.low, p.constant == 0 ? 0.0f : 1.0f);
  // With beta 0, c must not be read.
  const auto c = p.beta == 0 ? std::vector<float>(p.m * p.n, kNan) : run.Values(p.m * p.n);
  const auto a_stored = run.Store(a);
  const auto b_stored = run.Store(b);
  const auto c_stored = run.Store(c);
  run.meter.At(fmt::format("{} x {} x {}{}{}, alpha {}, beta {}{}", p.m, p.n, p.k,
                           p.transpose_a ? ", a transposed" : "",
                           p.transpose_b ? ", b transposed" : "", p.alpha, p.beta,
                           p.constant == 0 ? "" : fmt::format(", terms of {}", p.constant)));
  run.table().gemm(run.queue(), p.transpose_a, p.transpose_b, p.m, p.n, p.k, p.alpha, a_stored,
                   b_stored, p.beta, c_stored);
  const auto got = c_stored.Read();
  for (size_t i = 0; i < p.m; ++i) {
    for (size_t j = 0; j < p.n; ++j) {
      double want = p.beta == 0 ? 0 : double{p.beta} * c[i * p.n + j];
      double magnitude = std::abs(want);
      for (size_t l = 0; l < p.k; ++l) {
        const double term = double{p.alpha} * (p.transpose_a ? a[l * p.m + i] : a[i * p.k + l]) *
                            (p.transpose_b ? b[j * p.k + l] : b[l * p.n + j]);
        want += term;
        magnitude += std::abs(term);
      }
      run.meter.Add(got[i * p.n + j], want, magnitude);
    }
  }
}

struct Sparse {
  size_t rows, columns;
  double density;
  size_t skipped;
};
constexpr Sparse kSparse[] = {{0, 5, 0.5, 0},       {4, 0, 0.5, 0},   {1, 1, 1, 0},
                              {200, 123, 0.11, 0},  {9, 700, 0.9, 3}, {150, 20, 0, 0},
                              {30, 40000, 0.001, 5}};
constexpr size_t kDenseColumns[] = {0, 1, 2, 10, 131};
constexpr size_t kMostResults = 500'000;

std::string Words(const HostCsr& csr, size_t n) {
  return fmt::format("{} x {} with {} entries, {} columns", csr.rows, csr.columns,
                     csr.value.size() - csr.row_begin[0], n);
}

void CompareCsr(CheckRun& run, const HostCsr& host, size_t n, float alpha, float beta,
                float of_b = 0) {
  const DeviceCsr csr(run.rig, host);
  const auto b = Factors(run, host.columns * n, -1, of_b);
  const auto c = beta == 0 ? std::vector<float>(host.rows * n, kNan) : run.Values(host.rows * n);
  const auto b_stored = run.Store(b);
  const auto c_stored = run.Store(c);
  run.meter.At(Words(host, n));
  run.table().csr_times_dense(run.queue(), &csr.view, n, alpha, b_stored, beta, c_stored);
  const auto got = c_stored.Read();
  for (size_t row = 0; row < host.rows; ++row) {
    for (size_t j = 0; j < n; ++j) {
      double want = beta == 0 ? 0 : double{beta} * c[row * n + j];
      double magnitude = std::abs(want);
      for (uint64_t e = host.row_begin[row]; e < host.row_begin[row + 1]; ++e) {
        const double term = double{alpha} * host.value[e] * b[host.column[e] * n + j];
        want += term;
        magnitude += std::abs(term);
      }
      run.meter.Add(got[row * n + j], want, magnitude);
    }
  }
}

void CompareCsrTransposed(CheckRun& run, const HostCsr& host, size_t n, float alpha,
                          float of_b = 0) {
  const DeviceCsr csr(run.rig, host);
  const auto b = Factors(run, host.rows * n, -1, of_b);
  const auto c = run.Values(host.columns * n);
  const auto b_stored = run.Store(b);
  const auto c_stored = run.Store(c);
  run.meter.At(Words(host, n));
  run.table().csr_transposed_times_dense(run.queue(), &csr.view, n, alpha, b_stored, c_stored);
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
  for (size_t i = 0; i < c.size(); ++i) run.meter.Add(got[i], want[i], magnitude[i]);
}

// All entries are equal, and so are the terms of each column sum.
HostCsr ConstantCsr(size_t rows, size_t columns, float value) {
  HostCsr csr{rows, columns, {0}, {}, std::vector<float>(rows * columns, value)};
  for (size_t row = 0; row < rows; ++row) {
    for (size_t c = 0; c < columns; ++c) csr.column.push_back(static_cast<uint32_t>(c));
    csr.row_begin.push_back(csr.column.size());
  }
  return csr;
}

// Runs each sparse matrix with each number of columns that does not take too long.
template <typename Compare>
void ForEachSparse(CheckRun& run, Compare compare) {
  for (const Sparse& s : kSparse) {
    const HostCsr csr = RandomCsr(run.random, s.rows, s.columns, s.density, s.skipped);
    for (const size_t n : kDenseColumns) {
      if (s.columns * n <= kMostResults) compare(csr, n);
    }
  }
  compare(RandomCsr(run.random, 11, 40, 0.3), 1500);
}

std::vector<Shape> GemmShapes(CheckRun& run) {
  std::vector<Shape> shapes = {
      {0, 3, 4},     {3, 0, 4},    {3, 4, 0},     {1, 1, 1},    {1, 7, 5},    {7, 1, 5},
      {1, 300, 70},  {300, 1, 70}, {3, 2, 1},     {33, 10, 64}, {10, 64, 32}, {129, 257, 33},
      {300, 10, 17}, {5, 600, 9},  {260, 3, 400}, {1, 1, 3000}, {16, 16, 16}, {127, 49, 153}};
  for (int i = 0; i < 10; ++i) {
    const size_t m = run.random.Below(40);
    const size_t n = run.random.Below(40);
    const size_t k = run.random.Below(40);
    shapes.push_back({m, n, k});
  }
  if (run.large) shapes.push_back({2100, 2003, 3});
  return shapes;
}

}  // namespace

void CheckGemm(CheckRun& run) {
  const std::vector<Shape> shapes = GemmShapes(run);
  constexpr float kScales[][2] = {{1, 0}, {1, 1}, {-0.5f, 2}, {0.25f, 0}};
  for (size_t i = 0; i < shapes.size(); ++i) {
    for (int transposes = 0; transposes < 4; ++transposes) {
      const auto& [m, n, k] = shapes[i];
      const auto& [alpha, beta] = kScales[(i + transposes) % 4];
      CompareGemm(run, {m, n, k, (transposes & 1) != 0, (transposes & 2) != 0, alpha, beta});
    }
  }
  for (const float alpha : {0.0f, 1.0f, -2.5f}) {
    for (const float beta : {0.0f, 1.0f, 0.5f}) {
      for (const auto& [m, n, k] :
           {Shape{5, 6, 7}, Shape{5, 1, 7}, Shape{1, 6, 7}, Shape{5, 6, 0}}) {
        CompareGemm(run, {m, n, k, false, true, alpha, beta});
      }
    }
  }
  for (const auto& [m, n, k] : {Shape{3, 2, 65536}, Shape{2, 1, 65536}, Shape{1, 3, 65536}}) {
    for (int transposes = 0; transposes < 4; ++transposes) {
      CompareGemm(run, {m, n, k, (transposes & 1) != 0, (transposes & 2) != 0, 1, 0, 0.9});
    }
  }
  for (const size_t k : {512, 1024, 8192, 65536}) {
    for (const float constant : kHardConstants) {
      CompareGemm(run, {.m = 3, .n = 2, .k = k, .constant = constant});
      CompareGemm(run, {.m = 2, .n = 1, .k = k, .constant = constant});
      CompareGemm(run, {.m = 1, .n = 3, .k = k, .constant = constant});
    }
  }
}

void CheckCsrTimesDense(CheckRun& run) {
  ForEachSparse(run, [&run](const HostCsr& csr, size_t n) {
    CompareCsr(run, csr, n, 1, 0);
    CompareCsr(run, csr, n, -0.5f, 2);
  });
  for (const float constant : kHardConstants) {
    for (const size_t n : {1, 3}) CompareCsr(run, ConstantCsr(2, 65536, constant), n, 1, 0, 1);
  }
  if (run.large) CompareCsr(run, RandomCsr(run.random, 2100, 30, 0.1), 2003, 1, 0);
}

void CheckCsrTransposedTimesDense(CheckRun& run) {
  ForEachSparse(run,
                [&run](const HostCsr& csr, size_t n) { CompareCsrTransposed(run, csr, n, 0.75f); });
  for (const float constant : kHardConstants) {
    const HostCsr column = ConstantCsr(65536, 2, constant);
    for (const size_t n : {1, 3}) CompareCsrTransposed(run, column, n, 1, 1);
  }
  if (run.large) CompareCsrTransposed(run, RandomCsr(run.random, 30, 2100, 0.1), 2003, 1);
}

}  // namespace motley::check
