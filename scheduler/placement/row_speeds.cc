// SPDX-License-Identifier: Apache-2.0
#include "scheduler/placement/row_speeds.h"

#include <algorithm>
#include <numeric>

#include "base/assert.h"

namespace motley {
namespace {

constexpr double kLittle = 0.15;   // Part of the step.
constexpr double kNothing = 1e-6;  // Part of its speed, less than a share.
constexpr int kHalvings = 50;

}  // namespace

std::vector<size_t> FastestOf(const std::vector<double>& speeds, size_t count) {
  std::vector<size_t> order(speeds.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (count >= order.size()) return order;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return speeds[a] > speeds[b]; });
  order.resize(count);
  std::sort(order.begin(), order.end());
  return order;
}

std::vector<double> SpeedsWithWaits(const std::vector<double>& speeds,
                                    const std::vector<double>& waits, double samples, double most) {
  MOTLEY_ASSERT(!speeds.empty() && speeds.size() == waits.size());
  const auto load = [&](size_t i, double end) {
    return std::clamp(speeds[i] * (end - waits[i]), 0.0, most);
  };
  const auto [least, longest] = std::minmax_element(waits.begin(), waits.end());
  // Limits and longer waits can only make the end later.
  const double soonest = *least + samples / std::accumulate(speeds.begin(), speeds.end(), 0.0);
  if (*longest - *least < kLittle * soonest) return speeds;
  const double slowest = *std::min_element(speeds.begin(), speeds.end());
  // At `high` every worker has the most that it can have.
  double low = *least, high = *longest + most / slowest;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    double sum = 0;
    for (size_t w = 0; w < speeds.size(); ++w) sum += load(w, middle);
    (sum < samples ? low : high) = middle;
  }
  if (*longest - *least < kLittle * high) return speeds;
  std::vector<double> shares(speeds.size());
  for (size_t w = 0; w < speeds.size(); ++w) {
    shares[w] = std::max(load(w, high) / high, kNothing * speeds[w]);
  }
  return shares;
}

}  // namespace motley
