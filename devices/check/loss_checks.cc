// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "devices/check/checks.h"

namespace motley::check {
namespace {

// What a loss kernel leaves, and what it should.
struct Loss {
  std::string where;
  std::vector<float> gradient;
  std::vector<double> wanted_gradient;
  double loss = 0;
  double wanted_loss = 0;
};

// Of what takes long, one range of values suffices.
bool IsNew(size_t count, double range) { return count < kMoreThanOneLaunch || range < 1e4; }

Loss Softmax(CheckRun& run, size_t rows, size_t columns, double range) {
  Loss made{.where = fmt::format("{} x {} in [-{}, {}]", rows, columns, range, range)};
  const auto x = run.Values(rows * columns, -range, range);
  std::vector<float> label(rows);
  for (float& l : label) l = static_cast<float>(run.random.Below(columns));
  const auto x_stored = run.Store(x);
  const Operand<double> loss(run.rig, {100.0});  // Losses are added to what is there.
  run.table().softmax_cross_entropy(run.queue(), rows, columns, run.Store(label), x_stored, loss);
  made.gradient = x_stored.Read();
  made.loss = loss.Read()[0];
  made.wanted_loss = 100;
  made.wanted_gradient.reserve(x.size());
  for (size_t r = 0; r < rows; ++r) {
    const float* row = x.data() + r * columns;
    const double largest = *std::max_element(row, row + columns);
    double sum = 0;
    for (size_t c = 0; c < columns; ++c) sum += std::exp(row[c] - largest);
    const auto l = static_cast<size_t>(label[r]);
    made.wanted_loss += std::log(sum) - (row[l] - largest);
    for (size_t c = 0; c < columns; ++c) {
      made.wanted_gradient.push_back(std::exp(row[c] - largest) / sum - (c == l ? 1 : 0));
    }
  }
  return made;
}

template <typename Each>
void ForEachSoftmax(CheckRun& run, Each each) {
  std::vector<std::pair<size_t, size_t>> shapes = {{0, 10},    {1, 1},    {3, 2},
                                                   {1000, 10}, {5, 1000}, {17, 33}};
  if (run.large) shapes.emplace_back(kMoreThanOneLaunch / 4, 5);
  for (const auto& [rows, columns] : shapes) {
    for (const double range : {1.0, 1e4}) {
      if (IsNew(rows * columns, range)) each(Softmax(run, rows, columns, range));
    }
  }
}

// Of one output per row: `kernel`, and what it means for an output and a label.
template <typename Kernel, typename Meaning, typename Each>
void ForEachScalar(CheckRun& run, Kernel kernel, Meaning meaning, Each each) {
  for (const double range : {5.0, 1e4}) {
    for (const size_t rows : run.Counts()) {
      if (!IsNew(rows, range)) continue;
      Loss made{.where = fmt::format("{} rows in [-{}, {}]", rows, range, range)};
      const auto x = run.Values(rows, -range, range);
      const auto label = run.Values(rows);
      const auto x_stored = run.Store(x);
      const Operand<double> loss(run.rig, {1.0});
      kernel(run.queue(), rows, run.Store(label), x_stored, loss);
      made.gradient = x_stored.Read();
      made.loss = loss.Read()[0];
      made.wanted_loss = 1;
      made.wanted_gradient.reserve(rows);
      for (size_t i = 0; i < rows; ++i) {
        const auto [one, slope] = meaning(double{x[i]}, double{label[i]});
        made.wanted_loss += one;
        made.wanted_gradient.push_back(slope);
      }
      each(made);
    }
  }
}

// The loss, and its slope.
std::pair<double, double> Logistic(double x, double label) {
  const double y = label > 0.5 ? 1 : -1;
  const double margin = y * x;
  const double loss = std::log1p(std::exp(-std::abs(margin))) + std::max(-margin, 0.0);
  return {loss, -y / (1 + std::exp(margin))};
}
std::pair<double, double> Squared(double x, double label) {
  return {0.5 * (x - label) * (x - label), x - label};
}

auto ComparesLoss(CheckRun& run) {
  return [&run](const Loss& loss) {
    run.meter.At(loss.where);
    run.meter.Add(loss.loss, loss.wanted_loss, loss.wanted_loss);
  };
}

// Relative to a gradient's size, or to `least` where it is smaller.
auto ComparesGradient(CheckRun& run, double least) {
  return [&run, least](const Loss& loss) {
    run.meter.At(loss.where);
    for (size_t i = 0; i < loss.gradient.size(); ++i) {
      const double want = loss.wanted_gradient[i];
      run.meter.Add(loss.gradient[i], want, std::max(std::abs(want), least));
    }
  };
}

}  // namespace

void CheckSoftmaxGradient(CheckRun& run) { ForEachSoftmax(run, ComparesGradient(run, 1)); }
void CheckSoftmaxLoss(CheckRun& run) { ForEachSoftmax(run, ComparesLoss(run)); }
void CheckLogisticGradient(CheckRun& run) {
  ForEachScalar(run, run.table().logistic_loss, Logistic, ComparesGradient(run, 0.1));
}
void CheckLogisticLoss(CheckRun& run) {
  ForEachScalar(run, run.table().logistic_loss, Logistic, ComparesLoss(run));
}
void CheckSquaredGradient(CheckRun& run) {
  ForEachScalar(run, run.table().squared_loss, Squared, ComparesGradient(run, 0));
}
void CheckSquaredLoss(CheckRun& run) {
  ForEachScalar(run, run.table().squared_loss, Squared, ComparesLoss(run));
}

}  // namespace motley::check
