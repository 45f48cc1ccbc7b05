// SPDX-License-Identifier: Apache-2.0
#include "sim/checkers/step_checker.h"

#include <fmt/format.h>

#include <algorithm>

#include "coding/decode/approximate.h"
#include "coding/decode/decoder.h"

namespace motley {
namespace {

// True if rows of different copies give the exact sum, which the code's own decoder does not find.
bool ExactByLeastSquares(const CodeForm& form, const std::vector<bool>& arrived) {
  constexpr double kRounding = 1e-15;
  if (form.name != "approximate") return false;
  const auto best = SolveLeastSquares(form, arrived);
  return best.ok() && best->error <= kRounding;
}

}  // namespace

// The rows that its earlier incarnation kept are gone, so the worker may compute them again.
void StepChecker::OnWorkerJoined(WorkerId worker, const std::string&) {
  std::erase_if(kept_, [&](const auto& done) { return done.second == worker; });
}

void StepChecker::OnStepOpened(StepId step, const CodeForm& form, Time) {
  if (step != next_) {
    violations_.Add(fmt::format("I1: step {} was opened at version {}", step, next_));
  }
  if (state_ == State::kDecoded) {
    violations_.Add(fmt::format("I1: step {} was opened again after it had decoded", step));
  }
  state_ = State::kOpen;
  form_.Open(form);
  approximate_ = false;
  arrived_.assign(form.workers, false);
  assigned_rows_.assign(form.workers, false);
  assigned_.clear();
  kept_.clear();
}

void StepChecker::OnRowAssigned(StepId step, RowId row, WorkerId worker, Time) {
  if (state_ != State::kOpen || step != next_ || row >= form_->workers) {
    violations_.Add(fmt::format("I3: row {} of step {} was given to worker {} while step {} was {}",
                                row, step, worker, next_,
                                state_ == State::kOpen ? "open" : "not open"));
    return;
  }
  assigned_rows_[row] = true;
  assigned_.emplace_back(row, worker);
}

void StepChecker::OnRowArrived(StepId step, RowId row, WorkerId worker, Time) {
  if (state_ != State::kOpen || step != next_ || row >= form_->workers) {
    violations_.Add(fmt::format("I3: row {} of step {} from worker {} counted although it was late",
                                row, step, worker));
    return;
  }
  const std::pair<RowId, WorkerId> answer(row, worker);
  const bool twice = form_->kept_parts > 0 && std::count(kept_.begin(), kept_.end(), answer) > 0;
  if (form_->kept_parts > 0) kept_.push_back(answer);  // Every holder may report it.
  if (twice || (arrived_[row] && form_->kept_parts == 0)) {
    violations_.Add(
        fmt::format("I3: row {} of step {} counted twice, now from worker {}", row, step, worker));
  }
  if (std::find(assigned_.begin(), assigned_.end(), answer) == assigned_.end()) {
    violations_.Add(fmt::format("I3: row {} of step {} came from worker {}, which was not asked",
                                row, step, worker));
  }
  arrived_[row] = true;
}

void StepChecker::OnStepApproximated(StepId step, const ApproximateSum&, Time) {
  approximate_ = true;
  if (state_ != State::kOpen || step != next_) {
    violations_.Add(fmt::format("I1: step {} ended approximately while it was not open", step));
  } else if (Solve(*form_, arrived_).ok()) {
    violations_.Add(
        fmt::format("I2: step {} ended approximately, although its answers decode", step));
  }
}

void StepChecker::OnStepDecoded(StepId step, const DecodedSum&, std::span<const float>, Time) {
  if (state_ != State::kOpen || step != next_) {
    violations_.Add(fmt::format("I1: step {} decoded while it was not open", step));
    return;
  }
  state_ = State::kDecoded;
  if (form_->rows.empty()) return;  // The TilingChecker checks leases.
  if (form_->kept_parts > 0) {
    violations_.Add(fmt::format("I2: step {} was committed before any worker answered", step));
    return;
  }
  if (approximate_) return;  // The CoverageChecker checks these.
  const auto solved = Solve(*form_, whole_rows_ ? arrived_ : assigned_rows_);
  if (!solved.ok() && !ExactByLeastSquares(*form_, arrived_)) {
    violations_.Add(fmt::format("I2: step {} was committed with too few answers: {}", step,
                                solved.status().ToString()));
  }
}

void StepChecker::OnStepApplied(StepId step, std::span<const float>, double, Time) {
  if (step != next_) {
    violations_.Add(fmt::format("I1: step {} was applied to version {}", step, next_));
  } else if (state_ != State::kDecoded) {
    violations_.Add(fmt::format("I1: step {} was applied without a decoded gradient", step));
  }
  state_ = State::kClosed;
  next_ = step + 1;
}

}  // namespace motley
