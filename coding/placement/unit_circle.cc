// SPDX-License-Identifier: Apache-2.0
#include "coding/placement/unit_circle.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "coding/placement/placement.h"

namespace motley {
namespace {

Complex HolderCoefficient(std::span<const Complex> nodes, std::span<const WorkerId> holders,
                          WorkerId worker) {
  Complex product = 1;
  for (WorkerId other : holders) {
    if (other != worker) product *= nodes[other] / (nodes[other] - nodes[worker]);
  }
  return product;
}

// log of a product of many factors from [0, 4], which itself would exceed double's range.
class LogProduct {
 public:
  void Multiply(double factor) {
    product_ *= factor;
    if (product_ > kMost || product_ < 1 / kMost) {
      log_ += std::log(product_);
      product_ = 1;
    }
  }
  double Log() const { return log_ + std::log(product_); }

 private:
  static constexpr double kMost = 1e150;
  double log_ = 0;
  double product_ = 1;
};

// The largest log of 1 / prod |z_l - z_i|, which is |B[i,j]| since nodes have length 1.
double LogLargestCoefficient(std::span<const Complex> nodes, std::span<const WorkerId> holders) {
  double largest = -std::numeric_limits<double>::infinity();
  for (WorkerId worker : holders) {
    LogProduct squared;
    for (WorkerId other : holders) {
      if (other != worker) squared.Multiply(std::norm(nodes[other] - nodes[worker]));
    }
    largest = std::max(largest, -squared.Log() / 2);
  }
  return largest;
}

void SetC(CodeForm& form) {
  form.accumulators = form.stragglers + 1;
  form.c.assign(size_t{form.accumulators} * form.workers, 0);
  form.v.assign(form.accumulators, 0);
  form.v[0] = 1;
  for (WorkerId worker = 0; worker < form.workers; ++worker) {
    if (form.rows[worker].empty()) {
      form.nodes[worker] = 0;
      continue;
    }
    Complex power = 1;
    for (uint32_t t = 0; t < form.accumulators; ++t) {
      form.c[size_t{t} * form.workers + worker] = power;
      power *= form.nodes[worker];
    }
  }
}

}  // namespace

Complex OnCircle(double turn) { return std::polar(1.0, 2 * std::numbers::pi * turn); }

double LogLargestOnCircle(std::span<const Complex> nodes, std::span<const HeldRun> runs) {
  double largest = -std::numeric_limits<double>::infinity();
  for (const HeldRun& run : runs) {
    largest = std::max(largest, LogLargestCoefficient(nodes, run.holders));
  }
  return largest;
}

double LogWorstWeightOnCircle(std::span<const Complex> nodes, uint32_t stragglers) {
  // |a_i| is the product of the distances from z_i to the missing nodes. The worst set is the s
  // farthest nodes, which are the neighbours of the opposite point.
  std::vector<std::pair<double, Complex>> around;  // By angle.
  around.reserve(nodes.size());
  for (const Complex& node : nodes) around.emplace_back(std::arg(node), node);
  const auto earlier = [](const auto& a, const auto& b) { return a.first < b.first; };
  std::sort(around.begin(), around.end(), earlier);
  const size_t n = around.size();
  double worst = 0;
  for (const Complex& node : nodes) {
    const std::pair<double, Complex> opposite(std::arg(-node), -node);
    const auto across = std::lower_bound(around.begin(), around.end(), opposite, earlier);
    size_t after = static_cast<size_t>(across - around.begin()) % n;
    size_t before = (after + n - 1) % n;
    LogProduct product;
    for (uint32_t l = 0; l < stragglers; ++l) {
      const double far_after = std::norm(around[after].second - node);
      const double far_before = std::norm(around[before].second - node);
      product.Multiply(std::max(far_after, far_before));
      if (far_after >= far_before) {
        after = (after + 1) % n;
      } else {
        before = (before + n - 1) % n;
      }
    }
    worst = std::max(worst, product.Log() / 2);
  }
  return worst;
}

void SetCircleCode(std::vector<Complex> nodes, std::span<const HeldRun> runs, CodeForm& form) {
  for (const HeldRun& run : runs) {
    for (WorkerId worker : run.holders) {
      AppendRun(run.begin, run.end, HolderCoefficient(nodes, run.holders, worker),
                form.rows[worker]);
    }
  }
  // Without stragglers all coefficients are 1: the tiling form, summed in a fixed order.
  if (form.stragglers > 0) {
    form.field = Field::kComplexPacked;
    form.nodes = std::move(nodes);
    SetC(form);
  }
  Finish(form);
}

}  // namespace motley
