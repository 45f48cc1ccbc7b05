// SPDX-License-Identifier: Apache-2.0
// `motley plan`: which scheme suits a cluster, what it costs and what it insures against.
#pragma once

#include "cli/commands/plan_report.h"

namespace motley {

// The exit code.
int RunPlan(const PlanFlags& flags);

}  // namespace motley
