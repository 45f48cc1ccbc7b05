// SPDX-License-Identifier: Apache-2.0
#include "coding/unit_circle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/random.h"

namespace motley {
namespace {

// The straggler set that is worst for node i: the s nodes farthest from it.
double WorstBySorting(const std::vector<Complex>& nodes, uint32_t stragglers) {
  double worst = 1;
  for (const Complex& node : nodes) {
    std::vector<double> distances;
    for (const Complex& other : nodes) distances.push_back(std::abs(other - node));
    std::sort(distances.begin(), distances.end(), std::greater<>());
    double product = 1;
    for (uint32_t l = 0; l < stragglers; ++l) product *= distances[l];
    worst = std::max(worst, product);
  }
  return worst;
}

TEST(UnitCircle, TheWorstWeightIsThatOfTheFarthestStragglers) {
  Random random(1, Stream::kTest);
  for (int round = 0; round < 1000; ++round) {
    const auto n = static_cast<uint32_t>(1 + random.Below(20));
    const auto s = static_cast<uint32_t>(random.Below(n));
    std::vector<Complex> nodes;
    for (uint32_t i = 0; i < n; ++i) {
      nodes.push_back(OnCircle(round % 2 == 0 ? static_cast<double>(i) / n : random.NextDouble()));
    }
    const double worst = WorstBySorting(nodes, s);
    EXPECT_NEAR(WorstWeightOnCircle(nodes, s), worst, 1e-12 * worst) << n << " " << s;
  }
}

}  // namespace
}  // namespace motley
