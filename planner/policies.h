// SPDX-License-Identifier: Apache-2.0
// Makes the scheduler of a job from the name of its scheme (coding/schemes.h).
#pragma once

#include <memory>

#include "base/status.h"
#include "scheduler/scheduler.h"

namespace motley {

class BulkSynchronous;

// The one that serves `options.code`: leases, rows of a code, or one that chooses among them.
// kNotFound and kInvalidArgument say what to change.
Result<std::unique_ptr<Scheduler>> MakeScheduler(const SchedulerOptions& options);

// One that others can go on from; not for a scheme that is chosen later.
Result<std::unique_ptr<BulkSynchronous>> MakeBulkSynchronous(const SchedulerOptions& options);

}  // namespace motley
