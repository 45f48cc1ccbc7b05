// SPDX-License-Identifier: Apache-2.0
#include "coding/unit_circle.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

#include "coding/placement.h"

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

// 1 / prod |z_l - z_i|, which is |B[i,j]| since nodes have length 1.
double LargestHolderCoefficient(std::span<const Complex> nodes, std::span<const WorkerId> holders) {
  double largest = 0;
  for (WorkerId worker : holders) {
    double squared = 1;
    for (WorkerId other : holders) {
      if (other != worker) squared *= std::norm(nodes[other] - nodes[worker]);
    }
    largest = std::max(largest, 1 / std::sqrt(squared));
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

double LargestOnCircle(std::span<const Complex> nodes, std::span<const HeldRun> runs) {
  double largest = 0;
  for (const HeldRun& run : runs) {
    largest = std::max(largest, LargestHolderCoefficient(nodes, run.holders));
  }
  return largest;
}

double WorstWeightOnCircle(std::span<const Complex> nodes, uint32_t stragglers) {
  // |a_i| is the product of the distances from z_i to the missing: worst for the s farthest.
  double worst = 1;
  std::vector<double> squared(nodes.size());
  for (const Complex& node : nodes) {
    for (size_t l = 0; l < nodes.size(); ++l) squared[l] = std::norm(nodes[l] - node);
    std::nth_element(squared.begin(), squared.begin() + stragglers, squared.end(),
                     std::greater<>());
    double product = 1;
    for (uint32_t l = 0; l < stragglers; ++l) product *= squared[l];
    worst = std::max(worst, std::sqrt(product));
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
