// SPDX-License-Identifier: Apache-2.0
// What a worker computes with. Shared with the work on the device, so that it stays until that has
// come back, whatever became of the node.
#pragma once

#include <memory>

#include "runtime/shard/publisher.h"
#include "training/models/model.h"
#include "training/trainers/callback_trainer.h"
#include "transport/wire/control.h"

namespace motley {

struct Workshop {
  std::unique_ptr<Model> model;  // Null when the trainer is the caller's.
  PartitionStore store;
  BatchSchedule schedule;
  std::unique_ptr<Trainer> trainer;
};

// What the server's welcome asks for; `foreign` is what this worker has, or null. A built-in model
// is trained on all parts of a joined device, and `lost` is told of those that fail while others go
// on. kDataError when the welcome makes no sense, kConflict when this release cannot build the
// model or job and worker are not both for one trainer, kResource when the model does not fit into
// memory.
Result<std::shared_ptr<Workshop>> MakeWorkshop(Loop& loop, Device& device,
                                               const wire::AcceptT& accept,
                                               std::shared_ptr<const ForeignTrainer> foreign = {},
                                               DeviceLost lost = nullptr);

}  // namespace motley
