// SPDX-License-Identifier: Apache-2.0
#include "coding/placement/unit_circle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

#include "base/random.h"

namespace motley {
namespace {

// The worst straggler set for node i: the s nodes farthest from it.
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
    EXPECT_NEAR(LogWorstWeightOnCircle(nodes, s), std::log(worst), 1e-12 * s) << n << " " << s;
  }
}

// The distances from one of n evenly spread nodes to the others multiply to n.
TEST(UnitCircle, ProductsBeyondTheRangeOfDoubleCount) {
  constexpr uint32_t kNodes = 5000;
  std::vector<Complex> nodes;
  std::vector<Complex> crowded;
  HeldRun everybody{0, 1, {}};
  for (uint32_t i = 0; i < kNodes; ++i) {
    nodes.push_back(OnCircle(static_cast<double>(i) / kNodes));
    crowded.push_back(OnCircle(static_cast<double>(i) / kNodes / 6));
    everybody.holders.push_back(i);
  }
  EXPECT_NEAR(LogWorstWeightOnCircle(nodes, kNodes - 1), std::log(kNodes), 1e-6);
  EXPECT_NEAR(LogLargestOnCircle(nodes, {&everybody, 1}), -std::log(kNodes), 1e-6);
  const double worst = LogWorstWeightOnCircle(nodes, 3000);
  EXPECT_GT(worst, 1024 * std::numbers::ln2);  // Beyond double's range.
  EXPECT_LT(worst, 3000 * std::numbers::ln2);
  EXPECT_GT(LogLargestOnCircle(crowded, {&everybody, 1}), 1024 * std::numbers::ln2);
}

}  // namespace
}  // namespace motley
