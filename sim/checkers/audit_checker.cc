// SPDX-License-Identifier: Apache-2.0
#include "sim/checkers/audit_checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

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

void AuditChecker::Finish() {
  std::vector<StepId> audited;
  std::set_difference(spoilt_.begin(), spoilt_.end(), given_up_.begin(), given_up_.end(),
                      std::back_inserter(audited));
  if (audited.size() < 2 || (first_warned_ && *first_warned_ <= audited[1])) return;
  violations_.Add(fmt::format(
      "I11: {} spoilt steps {} and {}; the first audit that noticed was of step {}", liar_,
      audited[0], audited[1], first_warned_ ? std::to_string(*first_warned_) : "none"));
}

}  // namespace motley
