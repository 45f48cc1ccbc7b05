// SPDX-License-Identifier: Apache-2.0
// Makes schedulers by the name of their code (coding/schemes.h).
#pragma once

#include <memory>

#include "base/status.h"
#include "scheduler/scheduler.h"
#include "scheduler/sync/batch_parts.h"

namespace motley {

// Makes the scheduler for `options.code`: a JobScheduler, or for "auto" one that changes its scheme
// while it runs. The messages of kNotFound and kInvalidArgument say what to change.
// With options.turns > 1, `batches` are those that turns share.
Result<std::unique_ptr<Scheduler>> MakeScheduler(const SchedulerOptions& options,
                                                 SharedBatches batches = {});

}  // namespace motley
