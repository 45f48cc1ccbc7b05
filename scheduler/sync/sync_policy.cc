// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sync/sync_policy.h"

#include <utility>

#include "scheduler/sync/bounded_staleness.h"

namespace motley {

std::unique_ptr<SyncPolicy> MakeSyncPolicy(const SchedulerOptions& options, SharedBatches batches) {
  if (!options.sync.one_each) return std::make_unique<Barrier>(options.first_step);
  return std::make_unique<BoundedStaleness>(options.workers, options.steps, options.sync,
                                            std::move(batches));
}

}  // namespace motley
