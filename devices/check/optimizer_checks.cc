// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>

#include "devices/check/checks.h"

namespace motley::check {
namespace {

constexpr int kSteps = 4;
constexpr float kLr = 0.05f, kMu = 0.9f, kBeta1 = 0.9f, kBeta2 = 0.999f, kEpsilon = 1e-8f;

// One parameter in float64.
struct Parameter {
  double w = 0, first = 0, second = 0;  // Two numbers of optimizer state.
};

// Makes several updates, so that the optimizer's state is checked as well. Parameters have size 1,
// so errors are relative to 1.
template <typename Update, typename Reference>
void CompareUpdates(CheckRun& run, Update update, Reference reference) {
  for (const size_t count : run.Counts()) {
    const auto start = run.Values(count);
    const std::vector<float> zero(count, 0.0f);
    const auto w = run.Store(start), first = run.Store(zero), second = run.Store(zero);
    std::vector<Parameter> want;
    want.reserve(count);
    for (const float value : start) want.push_back({value});
    const int steps = count < kMoreThanOneLaunch ? kSteps : 1;
    for (int t = 1; t <= steps; ++t) {
      const auto g = run.Values(count);
      update(count, t, run.Store(g), first, second, w);
      for (size_t i = 0; i < count; ++i) reference(want[i], g[i], t);
    }
    const auto got = w.Read();
    run.meter.At(fmt::format("{} parameters after {} steps", count, steps));
    for (size_t i = 0; i < count; ++i) run.meter.Add(got[i], want[i].w, 1);
  }
}

using Floats = const Operand<float>&;

void CompareMomentum(CheckRun& run, bool nesterov) {
  CompareUpdates(
      run,
      [&run, nesterov](size_t count, int, Floats g, Floats v, Floats, Floats w) {
        run.table().momentum(run.queue(), count, kLr, kMu, nesterov ? 1 : 0, g, v, w);
      },
      [nesterov](Parameter& p, double g, int) {
        p.first = kMu * p.first + g;
        p.w -= kLr * (nesterov ? g + kMu * p.first : p.first);
      });
}

}  // namespace

void CheckSgd(CheckRun& run) {
  CompareUpdates(
      run,
      [&run](size_t count, int, Floats g, Floats, Floats, Floats w) {
        run.table().sgd(run.queue(), count, kLr, g, w);
      },
      [](Parameter& p, double g, int) { p.w -= kLr * g; });
}

void CheckMomentum(CheckRun& run) { CompareMomentum(run, false); }
void CheckNesterov(CheckRun& run) { CompareMomentum(run, true); }

void CheckAdam(CheckRun& run) {
  CompareUpdates(
      run,
      [&run](size_t count, int t, Floats g, Floats m, Floats v, Floats w) {
        run.table().adam(run.queue(), count, kLr, kBeta1, kBeta2, kEpsilon,
                         static_cast<uint64_t>(t), g, m, v, w);
      },
      [](Parameter& p, double g, int t) {
        p.first = double{kBeta1} * p.first + (1 - double{kBeta1}) * g;
        p.second = double{kBeta2} * p.second + (1 - double{kBeta2}) * g * g;
        p.w -= kLr * (p.first / (1 - std::pow(double{kBeta1}, t))) /
               (std::sqrt(p.second / (1 - std::pow(double{kBeta2}, t))) + kEpsilon);
      });
}

}  // namespace motley::check
