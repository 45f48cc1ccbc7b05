// SPDX-License-Identifier: Apache-2.0
#include "sim/checkers/step_checker.h"

#include <fmt/format.h>

#include <algorithm>

#include "coding/decode/approximate.h"
#include "coding/decode/decoder.h"
#include "coding/schemes.h"

namespace motley {
namespace {

// True if rows of different copies give the exact sum, which the code's own decoder does not find.
bool ExactByLeastSquares(const CodeForm& form, const std::vector<bool>& arrived) {
  constexpr double kRounding = 1e-15;
  if (SchemeNamed(form.name).exact) return false;
  const auto best = SolveLeastSquares(form, arrived);
  return best.ok() && best->error <= kRounding;
}

}  // namespace

void StepChecker::OnEvent(const JobEvent& event) {
  Handle(event, [this](const auto& each) -> decltype(On(each)) { On(each); });
}

// The rows that its earlier incarnation kept are gone, so the worker may compute them again.
void StepChecker::On(const event::WorkerJoined& event) {
  std::erase_if(kept_, [&](const auto& done) { return done.second == event.worker; });
}

void StepChecker::On(const event::StepOpened& event) {
  if (event.step != next_) {
    violations_.Add(fmt::format("I1: step {} was opened at version {}", event.step, next_));
  }
  if (state_ == State::kDecoded) {
    violations_.Add(fmt::format("I1: step {} was opened again after it had decoded", event.step));
  }
  state_ = State::kOpen;
  form_.Open(event.code);
  approximate_ = false;
  arrived_.assign(event.code.workers, false);
  assigned_rows_.assign(event.code.workers, false);
  assigned_.clear();
  kept_.clear();
}

void StepChecker::On(const event::RowAssigned& event) {
  if (state_ != State::kOpen || event.step != next_ || event.row >= form_->workers) {
    violations_.Add(fmt::format("I3: row {} of step {} was given to worker {} while step {} was {}",
                                event.row, event.step, event.worker, next_,
                                state_ == State::kOpen ? "open" : "not open"));
    return;
  }
  assigned_rows_[event.row] = true;
  assigned_.emplace_back(event.row, event.worker);
}

void StepChecker::On(const event::RowArrived& event) {
  if (state_ != State::kOpen || event.step != next_ || event.row >= form_->workers) {
    violations_.Add(fmt::format("I3: row {} of step {} from worker {} counted although it was late",
                                event.row, event.step, event.worker));
    return;
  }
  const std::pair<RowId, WorkerId> answer(event.row, event.worker);
  const bool twice = form_->kept_parts > 0 && std::count(kept_.begin(), kept_.end(), answer) > 0;
  if (form_->kept_parts > 0) kept_.push_back(answer);  // Every holder may report it.
  if (twice || (arrived_[event.row] && form_->kept_parts == 0)) {
    violations_.Add(fmt::format("I3: row {} of step {} counted twice, now from worker {}",
                                event.row, event.step, event.worker));
  }
  if (std::find(assigned_.begin(), assigned_.end(), answer) == assigned_.end()) {
    violations_.Add(fmt::format("I3: row {} of step {} came from worker {}, which was not asked",
                                event.row, event.step, event.worker));
  }
  arrived_[event.row] = true;
}

void StepChecker::On(const event::StepApproximated& event) {
  approximate_ = true;
  if (state_ != State::kOpen || event.step != next_) {
    violations_.Add(
        fmt::format("I1: step {} ended approximately while it was not open", event.step));
  } else if (Solve(*form_, arrived_).ok()) {
    violations_.Add(
        fmt::format("I2: step {} ended approximately, although its answers decode", event.step));
  }
}

void StepChecker::On(const event::StepDecoded& event) {
  if (state_ != State::kOpen || event.step != next_) {
    violations_.Add(fmt::format("I1: step {} decoded while it was not open", event.step));
    return;
  }
  state_ = State::kDecoded;
  if (form_->rows.empty()) return;  // The TilingChecker checks leases.
  if (form_->kept_parts > 0) {
    violations_.Add(
        fmt::format("I2: step {} was committed before any worker answered", event.step));
    return;
  }
  if (approximate_) return;  // The CoverageChecker checks these.
  const auto solved = Solve(*form_, whole_rows_ ? arrived_ : assigned_rows_);
  if (!solved.ok() && !ExactByLeastSquares(*form_, arrived_)) {
    violations_.Add(fmt::format("I2: step {} was committed with too few answers: {}", event.step,
                                solved.status().ToString()));
  }
}

void StepChecker::On(const event::StepApplied& event) {
  if (event.step != next_) {
    violations_.Add(fmt::format("I1: step {} was applied to version {}", event.step, next_));
  } else if (state_ != State::kDecoded && sums_here_) {
    violations_.Add(fmt::format("I1: step {} was applied without a decoded gradient", event.step));
  }
  if (event.staleness > 0) {
    violations_.Add(fmt::format("I14: the gradient of step {} was {} updates old", event.step,
                                event.staleness));
  }
  state_ = State::kClosed;
  next_ = event.step + 1;
}

void StepChecker::On(const event::UpdateTakenBack& event) {
  if (event.step != next_ || (state_ != State::kDecoded && sums_here_)) {
    violations_.Add(fmt::format("I1: step {} was taken back at version {}", event.step, next_));
  }
  state_ = State::kClosed;
}

}  // namespace motley
