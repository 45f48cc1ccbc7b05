// SPDX-License-Identifier: Apache-2.0
// Makes the scheduler of a job from the name of its scheme (coding/schemes.h).
#pragma once

#include <memory>

#include "base/status.h"
#include "scheduler/scheduler.h"

namespace motley {

// The one that serves `options.code`: a JobScheduler, or one that changes its scheme while it runs.
// kNotFound and kInvalidArgument say what to change.
Result<std::unique_ptr<Scheduler>> MakeScheduler(const SchedulerOptions& options);

}  // namespace motley
