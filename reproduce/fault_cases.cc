// SPDX-License-Identifier: Apache-2.0
#include "reproduce/fault_cases.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <numeric>

namespace motley {
namespace {

constexpr std::array<double, 8> kSpeeds = {2, 2, 4, 4, 8, 8, 8, 12};
constexpr double kNoise = 0.04;
constexpr double kDead = std::numeric_limits<double>::infinity();

double TotalSpeed() { return std::accumulate(kSpeeds.begin(), kSpeeds.end(), 0.0); }

std::vector<Slowdowns> OneEach(double factor) {
  std::vector<Slowdowns> places;
  for (size_t i = 0; i < kSpeeds.size(); ++i) {
    Slowdowns slowdowns(kSpeeds.size(), 1);
    slowdowns[i] = factor;
    places.push_back(slowdowns);
  }
  return places;
}

std::vector<Slowdowns> TwoEach(double factor) {
  std::vector<Slowdowns> places;
  for (size_t i = 0; i < kSpeeds.size(); ++i) {
    for (size_t j = i + 1; j < kSpeeds.size(); ++j) {
      Slowdowns slowdowns(kSpeeds.size(), 1);
      slowdowns[i] = slowdowns[j] = factor;
      places.push_back(slowdowns);
    }
  }
  return places;
}

}  // namespace

std::span<const double> TableSpeeds() { return kSpeeds; }

const std::vector<FaultCase>& FaultCases() {
  static const std::vector<FaultCase> cases = {
      {"none", {Slowdowns(kSpeeds.size(), 1)}},
      {"slow2", OneEach(2)},
      {"slow5", OneEach(5)},
      {"dead", OneEach(kDead)},
      {"slow5x2", TwoEach(5)},
  };
  return cases;
}

std::vector<double> SecondsOfAll() {
  std::vector<double> seconds;
  for (const double speed : kSpeeds) seconds.push_back(TotalSpeed() / speed);
  return seconds;
}

std::vector<double> DrawSeconds(const Slowdowns& slowdowns, Random& random) {
  std::vector<double> seconds = SecondsOfAll();
  for (size_t i = 0; i < seconds.size(); ++i) {
    seconds[i] *= slowdowns[i] / std::max(0.5, 1 + kNoise * random.Normal());
  }
  return seconds;
}

double Oracle(const Slowdowns& slowdowns) { return SinglePortOracle(slowdowns, 0); }

double SinglePortOracle(const Slowdowns& slowdowns, double link) {
  std::vector<double> rates;
  for (size_t i = 0; i < slowdowns.size(); ++i) {
    rates.push_back(kSpeeds[i] / TotalSpeed() / slowdowns[i]);
  }
  std::sort(rates.begin(), rates.end(), std::greater<>());
  // With the m fastest, sum over them of rate (T - link * place) = 1; place 1 is sent last.
  double best = std::numeric_limits<double>::infinity();
  double rate = 0;
  double lost = 0;
  for (size_t m = 0; m < rates.size() && rates[m] > 0; ++m) {
    rate += rates[m];
    lost += rates[m] * link * static_cast<double>(m + 1);
    best = std::min(best, (1 + lost) / rate);
  }
  return best;
}

}  // namespace motley
