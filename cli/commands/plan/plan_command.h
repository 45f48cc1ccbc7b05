// SPDX-License-Identifier: Apache-2.0
// `motley plan` recommends a scheme for a cluster, and shows the cost of each and the failures that
// it survives.
#pragma once

#include "cli/commands/plan/plan_report.h"

namespace motley {

// Returns the exit code.
int RunPlan(const PlanFlags& flags);

}  // namespace motley
