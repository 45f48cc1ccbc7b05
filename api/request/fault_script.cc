// SPDX-License-Identifier: Apache-2.0
#include "api/request/fault_script.h"

#include <algorithm>

namespace motley {

void FaultScript::OnStepOpened(StepId step, const CodeForm& /*code*/, Time /*now*/) {
  const auto due = std::stable_partition(faults_.begin(), faults_.end(),
                                         [&](const Fault& fault) { return fault.step != step; });
  const std::vector<Fault> now_due(due, faults_.end());
  faults_.erase(due, faults_.end());  // A restarted step does not strike again.
  for (const Fault& fault : now_due) strike_(fault);
}

}  // namespace motley
