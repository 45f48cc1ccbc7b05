// SPDX-License-Identifier: Apache-2.0
#include "api/request/fault_script.h"

#include <algorithm>

namespace motley {

void FaultScript::OnEvent(const JobEvent& event) {
  Handle(event, [this](const auto& each) -> decltype(On(each)) { On(each); });
}

void FaultScript::On(const event::StepOpened& event) {
  const auto due = std::stable_partition(
      faults_.begin(), faults_.end(), [&](const Fault& fault) { return fault.step != event.step; });
  const std::vector<Fault> now_due(due, faults_.end());
  faults_.erase(due, faults_.end());  // A restarted step does not strike again.
  for (const Fault& fault : now_due) strike_(fault);
}

}  // namespace motley
