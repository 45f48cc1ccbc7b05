// SPDX-License-Identifier: Apache-2.0
// The model or trainer, data and schedule that a worker computes with. Work on the device shares
// the workshop, so that it lives until that work is done, whatever became of the node.
#pragma once

#include <memory>

#include "training/models/model.h"
#include "training/trainers/callback_trainer.h"
#include "transport/wire/control.h"

namespace motley {

struct Workshop {
  std::vector<size_t> ends;      // The ends of the shards' ranges of a vector.
  std::unique_ptr<Model> model;  // Null if the caller brings the trainer.
  PartitionStore store;
  BatchSchedule schedule;
  std::unique_ptr<Trainer> trainer;
  double speed = 0;  // Samples per second in the newest piece of work; 0: there was none.
  OwnMemory memory;  // For the vectors that the trainer reads and writes; null: the library's.
};

// How vectors travel. kDataError: there is no such format.
Result<WireFormat> WireOf(const wire::AcceptT& accept);

// Makes what the server's welcome asks for. `foreign` is this worker's own trainer, or null. A
// built-in model trains on all parts of a joined device. `lost` is notified of parts that fail
// while others go on. `updates` takes the job's local steps if `device` cannot.
// kDataError: the welcome is invalid. kConflict: this release cannot build the
// model, or job and worker are not both for one trainer. kResource: the model does not fit into
// memory.
Result<std::shared_ptr<Workshop>> MakeWorkshop(Loop& loop, Device& device,
                                               const wire::AcceptT& accept,
                                               std::shared_ptr<const ForeignTrainer> foreign = {},
                                               DeviceLost lost = nullptr,
                                               Device* updates = nullptr);

}  // namespace motley
