// SPDX-License-Identifier: Apache-2.0
#include "sim/checkers/audit_checker.h"

#include <fmt/format.h>

#include <algorithm>

namespace motley {

void AuditChecker::OnAuditWarning(const AuditWarning& warning) {
  const bool right = !liar_.empty() && (!warning.worker || warning.name == liar_);
  if (!right) violations_.Add("I11: an audit wronged an honest worker: " + warning.text);
  first_warned_ = std::min(first_warned_.value_or(warning.step), warning.step);
  named_ += warning.worker ? 1 : 0;
}

void AuditChecker::Spoilt(StepId step) {
  if (!first_spoilt_) {
    first_spoilt_ = step;
  } else if (step > *first_spoilt_ && !second_spoilt_) {
    second_spoilt_ = step;
  }
}

void AuditChecker::Finish() {
  if (!second_spoilt_ || (first_warned_ && *first_warned_ <= *second_spoilt_)) return;
  violations_.Add(fmt::format(
      "I11: {} spoilt steps {} and {}; the first audit that noticed was of step {}", liar_,
      *first_spoilt_, *second_spoilt_, first_warned_ ? std::to_string(*first_warned_) : "none"));
}

}  // namespace motley
