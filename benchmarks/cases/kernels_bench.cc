// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/cases/kernels_bench.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>

#include "base/random.h"
#include "benchmarks/cases/openblas.h"
#include "devices/cpu/cpu_device.h"

namespace motley {
namespace {

struct Layer {
  const char* name;
  size_t batch, inputs, outputs;
};

// The dense layers of `mlp:256`, `mlp:1024,1024` and `softmax` on images of 28 x 28.
std::vector<Layer> Layers(bool full) {
  if (!full) return {{"small", 24, 49, 40}, {"small output", 24, 40, 10}};
  return {{"mlp:256 layer 1", 128, 784, 256},        {"mlp:256 layer 1", 512, 784, 256},
          {"mlp:256 layer 2", 128, 256, 10},         {"mlp:256 layer 2", 512, 256, 10},
          {"mlp:1024,1024 layer 1", 512, 784, 1024}, {"mlp:1024,1024 layer 2", 512, 1024, 1024},
          {"mlp:1024,1024 layer 3", 512, 1024, 10},  {"softmax", 512, 784, 10}};
}

struct Case {
  std::string name;
  DenseProduct product;
};

// Forward, weight gradient (added to a sum) and, except for the first layer, input gradient.
std::vector<Case> Cases(bool full) {
  std::vector<Case> cases;
  for (const auto& [name, batch, inputs, outputs] : Layers(full)) {
    const auto add = [&](const char* what, const DenseProduct& product) {
      cases.push_back({fmt::format("{}, batch {}, {}", name, batch, what), product});
    };
    add("forward", {false, false, batch, outputs, inputs, 0});
    add("weights", {true, false, inputs, outputs, batch, 1});
    if (inputs != 784) add("inputs", {false, true, batch, inputs, outputs, 0});
  }
  return cases;
}

struct Operands {
  explicit Operands(const DenseProduct& product)
      : p(product), a(p.m * p.k), b(p.k * p.n), start(p.m * p.n), c(start) {
    Random random(1, Stream::kTest);
    for (auto* values : {&a, &b, &start}) {
      for (float& value : *values) value = static_cast<float>(2 * random.NextDouble() - 1);
    }
  }
  // The largest error relative to the sum of magnitudes, in some rows that cover the matrix.
  double Error() const {
    const size_t apart = std::max<size_t>(1, p.m / 16);
    double worst = 0;
    for (size_t i = 0; i < p.m; i = i + 1 == p.m ? p.m : std::min(i + apart, p.m - 1)) {
      for (size_t j = 0; j < p.n; ++j) worst = std::max(worst, ErrorAt(i, j));
    }
    return worst;
  }
  double ErrorAt(size_t i, size_t j) const {
    double want = p.beta * double{start[i * p.n + j]};
    double magnitude = std::abs(want);
    for (size_t l = 0; l < p.k; ++l) {
      const double term = double{p.transpose_a ? a[l * p.m + i] : a[i * p.k + l]} *
                          (p.transpose_b ? b[j * p.k + l] : b[l * p.n + j]);
      want += term;
      magnitude += std::abs(term);
    }
    const double error = std::abs(c[i * p.n + j] - want) / magnitude;
    return error >= 0 ? error : 1;  // NaN becomes 1.
  }

  DenseProduct p;
  std::vector<float> a, b, start, c;
};

// One contender: kernels of a module with threads, or OpenBLAS.
using Multiply = std::function<void(Operands& operands)>;

Status Check(const std::string& who, const Case& c, Operands& operands, const Multiply& multiply) {
  operands.c = operands.start;
  multiply(operands);
  const double error = operands.Error();
  if (error <= 1e-5) return Status::Ok();
  return Status::Internal(fmt::format("{} is off by {:.2g} in {}", who, error, c.name));
}

// The best of a few medians. The contenders alternate, so that other load on the machine affects
// both.
std::pair<double, double> SecondsInTurns(const BenchOptions& options, Operands& operands,
                                         const Multiply& ours, const Multiply& theirs) {
  BenchOptions turn = options;
  turn.full = false;
  double best[2] = {HUGE_VAL, HUGE_VAL};
  for (int round = 0; round < (options.full ? 7 : 1); ++round) {
    const Multiply* contenders[] = {&ours, &theirs};
    for (int i = 0; i < 2; ++i) {
      operands.c = operands.start;
      best[i] = std::min(best[i], MedianSeconds(turn, [&] { (*contenders[i])(operands); }));
    }
  }
  return {best[0], best[1]};
}

void MultiplyPlainly(Operands& o) {
  const DenseProduct& p = o.p;
  for (size_t i = 0; i < p.m; ++i) {
    float* row = o.c.data() + i * p.n;
    for (size_t j = 0; j < p.n; ++j) row[j] *= p.beta;
    for (size_t l = 0; l < p.k; ++l) {
      const float factor = p.transpose_a ? o.a[l * p.m + i] : o.a[i * p.k + l];
      const float* b = o.b.data() + (p.transpose_b ? l : l * p.n);
      const size_t stride = p.transpose_b ? p.k : 1;
      for (size_t j = 0; j < p.n; ++j) row[j] += factor * b[j * stride];
    }
  }
}

// Runs every case on one module with one number of threads, and the baseline.
Status BenchModule(const BenchOptions& options, const KernelModule& module, size_t threads,
                   const std::string& baseline, const Multiply& theirs,
                   std::vector<BenchLine>& lines) {
  const auto parallel = MakeTbbParallelFor(threads);
  motley_cpu_queue queue = MakeCpuQueue(*parallel);
  void* lent = threads > 1 ? &queue : nullptr;
  const Multiply ours = [&](Operands& o) {
    module.kernels->gemm(lent, o.p.transpose_a, o.p.transpose_b, o.p.m, o.p.n, o.p.k, 1, o.a.data(),
                         o.b.data(), o.p.beta, o.c.data());
  };
  for (const Case& c : Cases(options.full)) {
    Operands operands(c.product);
    MOTLEY_RETURN_IF_ERROR(Check(module.name, c, operands, ours));
    MOTLEY_RETURN_IF_ERROR(Check(baseline, c, operands, theirs));
    const auto [mine, other] = SecondsInTurns(options, operands, ours, theirs);
    const double operations = 2e-9 * static_cast<double>(c.product.m) *
                              static_cast<double>(c.product.n) * static_cast<double>(c.product.k);
    lines.push_back({fmt::format("{} x{}: {}", module.name, threads, c.name), "GFLOP/s",
                     operations / mine, baseline, operations / other});
  }
  return Status::Ok();
}

}  // namespace

Result<std::vector<BenchLine>> BenchGemm(const BenchOptions& options) {
  const auto blas = OpenBlas::Load();
  const std::string baseline = blas.ok() ? fmt::format("OpenBLAS, {} kernels", blas->core())
                                         : "three plain loops; " + blas.status().message();
  std::vector<BenchLine> lines;
  for (const size_t threads : {size_t{1}, std::max<size_t>(2, options.threads)}) {
    if (blas.ok()) blas->SetThreads(threads);
    const Multiply theirs = [&](Operands& o) {
      blas.ok() ? blas->Multiply(o.p, o.a.data(), o.b.data(), o.c.data()) : MultiplyPlainly(o);
    };
    for (const KernelModule& module : CpuKernelModules()) {
      if (module.kernels == nullptr) continue;
      MOTLEY_RETURN_IF_ERROR(BenchModule(options, module, threads, baseline, theirs, lines));
      if (options.full) break;  // The module that this processor would use.
    }
  }
  if (lines.empty()) return Status::Internal("no kernel module can be used here");
  return lines;
}

}  // namespace motley
