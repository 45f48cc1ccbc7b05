// SPDX-License-Identifier: Apache-2.0
#include "sim/checkers/coverage_checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "coding/decode/approximate.h"
#include "coding/schemes.h"

namespace motley {
namespace {

constexpr double kRounding = 1e-9;  // Rounding of weights and coverage, in double.
constexpr double kBest = 1e-6;      // Difference between two methods of least squares.

}  // namespace

void CoverageChecker::OnEvent(const JobEvent& event) {
  Handle(event, [this](const auto& each) -> decltype(On(each)) { On(each); });
}

void CoverageChecker::On(const event::StepOpened& event) {
  form_.Open(event.code);
  step_ = event.step;
  arrived_.assign(event.code.workers, false);
}

void CoverageChecker::On(const event::RowArrived& event) {
  if (event.step == step_ && event.row < arrived_.size()) arrived_[event.row] = true;
}

void CoverageChecker::On(const event::StepApproximated& event) {
  if (!form_.known() || event.step != step_ || SchemeNamed(form_->name).exact) {
    violations_.Add(fmt::format(
        "I12: step {} ended approximately, but is not the open step of an approximate code",
        event.step));
    return;
  }
  if (event.sum.weights.size() != form_->workers ||
      event.sum.coverage.size() != form_->partitions) {
    violations_.Add(fmt::format(
        "I12: step {}: {} weights and {} coverages for {} rows and {} partitions", event.step,
        event.sum.weights.size(), event.sum.coverage.size(), form_->workers, form_->partitions));
    return;
  }
  CheckWeights(event.step, event.sum);
  CheckCoverage(event.step, event.sum);
}

void CoverageChecker::CheckWeights(StepId step, const ApproximateSum& sum) {
  for (RowId row = 0; row < arrived_.size(); ++row) {
    if (sum.weights[row] == 0 || arrived_[row]) continue;
    violations_.Add(fmt::format("I12: row {} counts in step {} but did not arrive", row, step));
  }
  const auto best = SolveLeastSquares(*form_, arrived_);
  if (!best.ok() || !(best->error < 1)) {
    violations_.Add(fmt::format("I12: step {} ended without any row", step));
    return;
  }
  const double least = best->error / (1 - best->error);  // Scaled to be unbiased.
  if (!(std::abs(sum.error - least) <= kBest * (1 + least))) {
    violations_.Add(fmt::format("I12: step {} ended with error {}, but the best is {}", step,
                                sum.error, least));
  }
}

void CoverageChecker::CheckCoverage(StepId step, const ApproximateSum& sum) {
  std::vector<double> coverage(form_->partitions, 0);
  double largest = 1;
  for (RowId row = 0; row < arrived_.size(); ++row) {
    largest = std::max(largest, std::abs(sum.weights[row]));
    for (const CodeEntry& entry : form_->rows[row]) {
      coverage[entry.partition] += sum.weights[row] * entry.coefficient.real();
    }
  }
  double gap = 0, total = 0, squares = 0;
  for (PartitionId p = 0; p < coverage.size(); ++p) {
    gap = std::max(gap, std::abs(coverage[p] - sum.coverage[p]));
    total += sum.coverage[p];
    squares += (sum.coverage[p] - 1) * (sum.coverage[p] - 1);
  }
  const double k = form_->partitions;
  if (!(gap <= kRounding * largest) || !(std::abs(total / k - 1) <= kRounding) ||
      !(std::abs(squares / k - sum.error) <= kRounding * (1 + sum.error)) || !(sum.error > 0)) {
    violations_.Add(fmt::format(
        "I12: step {}: the coverage is {:.3g} off its weights, with mean {}; error {} reported, "
        "but it is {}",
        step, gap, total / k, sum.error, squares / k));
  }
}

}  // namespace motley
