// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "devices/check/checks.h"

namespace motley::check {
namespace {

// The results of a loss kernel, and the expected ones.
struct Loss {
  std::string where;
  std::vector<float> gradient;
  std::vector<double> wanted_gradient;
  double loss = 0;
  double wanted_loss = 0;
};

// Large shapes take long, so they are checked with one range of values.
bool IsNew(size_t count, double range) { return count < kMoreThanOneLaunch || range < 1e4; }

// A weight for each class, above 0 and at most 1, so that the reference magnitude of errors stays
// valid.
std::vector<float> ClassWeights(CheckRun& run, size_t classes) {
  return run.Values(classes, 0.25, 1);
}

Loss Softmax(CheckRun& run, size_t rows, size_t columns, double range, bool weighted) {
  Loss made{.where = fmt::format("{} x {} in [-{}, {}]{}", rows, columns, range, range,
                                 weighted ? ", weighted" : "")};
  const auto weight = ClassWeights(run, columns);
  const auto weight_stored = run.Store(weight);
  const float* const weights_at = weight_stored;
  const auto x = run.Values(rows * columns, -range, range);
  std::vector<float> label(rows);
  for (float& l : label) l = static_cast<float>(run.random.Below(columns));
  const auto x_stored = run.Store(x);
  const Operand<double> loss(run.rig, {100.0});  // Losses are added to this.
  run.table().softmax_cross_entropy(run.queue(), rows, columns, run.Store(label),
                                    weighted ? weights_at : nullptr, x_stored, loss);
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
    const double times = weighted ? weight[l] : 1;
    made.wanted_loss += times * (std::log(sum) - (row[l] - largest));
    for (size_t c = 0; c < columns; ++c) {
      made.wanted_gradient.push_back(times * (std::exp(row[c] - largest) / sum - (c == l ? 1 : 0)));
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
      if (!IsNew(rows * columns, range)) continue;
      for (const bool weighted : {false, true}) each(Softmax(run, rows, columns, range, weighted));
    }
  }
}

// Checks losses with one output per row. `kernel(label, weight, x, loss)` is compared with
// `meaning` for an output and a label. `classes`: the labels are two classes, which may have
// weights.
template <typename Kernel, typename Meaning, typename Each>
void ForEachScalar(CheckRun& run, bool classes, Kernel kernel, Meaning meaning, Each each) {
  const auto weight = ClassWeights(run, 2);
  const auto weight_stored = run.Store(weight);
  const float* const weights_at = weight_stored;
  for (const auto& [range, weighted] :
       {std::pair{5.0, false}, std::pair{1e4, false}, std::pair{5.0, true}}) {
    for (const size_t rows : run.Counts()) {
      if (!IsNew(rows, range) || (weighted && !classes)) continue;
      Loss made{.where = fmt::format("{} rows in [-{}, {}]{}", rows, range, range,
                                     weighted ? ", weighted" : "")};
      const auto x = run.Values(rows, -range, range);
      const auto label = run.Values(rows);
      const auto x_stored = run.Store(x);
      const Operand<double> loss(run.rig, {1.0});
      kernel(rows, run.Store(label), weighted ? weights_at : nullptr, x_stored, loss);
      made.gradient = x_stored.Read();
      made.loss = loss.Read()[0];
      made.wanted_loss = 1;
      made.wanted_gradient.reserve(rows);
      for (size_t i = 0; i < rows; ++i) {
        const auto [one, slope] = meaning(double{x[i]}, double{label[i]});
        const double times = weighted ? weight[label[i] > 0.5f ? 1 : 0] : 1;
        made.wanted_loss += times * one;
        made.wanted_gradient.push_back(times * slope);
      }
      each(made);
    }
  }
}

// The loss and its derivative.
std::pair<double, double> Logistic(double x, double label) {
  const double y = label > 0.5 ? 1 : -1;
  const double margin = y * x;
  const double loss = std::log1p(std::exp(-std::abs(margin))) + std::max(-margin, 0.0);
  return {loss, -y / (1 + std::exp(margin))};
}
std::pair<double, double> Squared(double x, double label) {
  return {0.5 * (x - label) * (x - label), x - label};
}

auto LogisticKernel(CheckRun& run) {
  return [&run](size_t rows, const float* label, const float* weight, float* x, double* loss) {
    run.table().logistic_loss(run.queue(), rows, label, weight, x, loss);
  };
}
auto SquaredKernel(CheckRun& run) {
  return [&run](size_t rows, const float* label, const float*, float* x, double* loss) {
    run.table().squared_loss(run.queue(), rows, label, x, loss);
  };
}

auto ComparesLoss(CheckRun& run) {
  return [&run](const Loss& loss) {
    run.meter.At(loss.where);
    run.meter.Add(loss.loss, loss.wanted_loss, loss.wanted_loss);
  };
}

// Errors are relative to the gradient's size, or to `least` if that is larger.
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
  ForEachScalar(run, true, LogisticKernel(run), Logistic, ComparesGradient(run, 0.1));
}
void CheckLogisticLoss(CheckRun& run) {
  ForEachScalar(run, true, LogisticKernel(run), Logistic, ComparesLoss(run));
}
void CheckSquaredGradient(CheckRun& run) {
  ForEachScalar(run, false, SquaredKernel(run), Squared, ComparesGradient(run, 0));
}
void CheckSquaredLoss(CheckRun& run) {
  ForEachScalar(run, false, SquaredKernel(run), Squared, ComparesLoss(run));
}

}  // namespace motley::check
