// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/kernels_bench.h"

#include <cmath>

#include "base/random.h"
#include "devices/cpu/cpu_device.h"
#include "fmt/core.h"

namespace motley {
namespace {

struct Matrices {
  explicit Matrices(size_t size) : n(size), a(n * n), b(n * n), c(n * n), expected(n * n) {
    Random random(1, Stream::kTest);
    for (float& value : a) value = static_cast<float>(2 * random.NextDouble() - 1);
    for (float& value : b) value = static_cast<float>(2 * random.NextDouble() - 1);
  }
  // Three plain loops, the inner one over a row.
  void MultiplyPlainly() {
    expected.assign(n * n, 0);
    for (size_t i = 0; i < n; ++i) {
      for (size_t k = 0; k < n; ++k) {
        for (size_t j = 0; j < n; ++j) expected[i * n + j] += a[i * n + k] * b[k * n + j];
      }
    }
  }
  double LargestDifference() const {
    double difference = 0;
    for (size_t i = 0; i < n * n; ++i) {
      difference = std::max(difference, std::abs(double{c[i]} - expected[i]));
    }
    return difference;
  }

  size_t n;
  std::vector<float> a, b, c, expected;
};

}  // namespace

Result<std::vector<BenchLine>> BenchGemm(const BenchOptions& options) {
  Matrices m(options.full ? 1024 : 128);
  const size_t n = m.n;
  const double operations = 2.0 * static_cast<double>(n) * static_cast<double>(n * n);
  const double plain = MedianSeconds(options, [&] { m.MultiplyPlainly(); });
  const auto parallel = MakeTbbParallelFor(options.threads);
  motley_cpu_queue queue = MakeCpuQueue(*parallel);
  std::vector<BenchLine> lines;
  for (const KernelModule& module : CpuKernelModules()) {
    if (module.kernels == nullptr) continue;
    const auto multiply = [&] {
      module.kernels->gemm(&queue, 0, 0, n, n, n, 1, m.a.data(), m.b.data(), 0, m.c.data());
    };
    multiply();
    if (!(m.LargestDifference() <= 1e-5 * static_cast<double>(n))) {
      return Status::Internal(
          fmt::format("{} is off by {:.2g}", module.name, m.LargestDifference()));
    }
    const double seconds = MedianSeconds(options, multiply);
    lines.push_back({fmt::format("{} n={}", module.name, n), "GFLOP/s", operations / seconds * 1e-9,
                     "three plain loops", operations / plain * 1e-9});
  }
  if (lines.empty()) return Status::Internal("no kernel module can be used here");
  return lines;
}

}  // namespace motley
