// SPDX-License-Identifier: Apache-2.0
#include "sim/checkers/audit_checker.h"

#include <fmt/format.h>

#include <algorithm>

namespace motley {

void AuditChecker::OnEvent(const JobEvent& event) {
  Handle(event, [this](const auto& each) -> decltype(On(each)) { On(each); });
}

void AuditChecker::On(const event::AuditWarned& event) {
  const bool right = !liar_.empty() && (!event.warning.worker || event.warning.name == liar_);
  if (!right)
    violations_.Add(fmt::format("I11: the audit of step {} wronged an honest worker, {}",
                                event.warning.step, event.warning.name));
  first_warned_ = std::min(first_warned_.value_or(event.warning.step), event.warning.step);
  named_ += event.warning.worker ? 1 : 0;
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
