// SPDX-License-Identifier: Apache-2.0
// What a worker computes with. Shared with the work on the device, so that it stays until that has
// come back, whatever became of the node.
#pragma once

#include <memory>

#include "runtime/publisher.h"
#include "training/model.h"
#include "training/trainer.h"
#include "transport/control.h"

namespace motley {

struct Workshop {
  std::unique_ptr<Model> model;
  PartitionStore store;
  BatchSchedule schedule;
  std::unique_ptr<Trainer> trainer;
};

// What the server's welcome asks for. kDataError when it makes no sense, kConflict when this
// release cannot build the model, kResource when the model does not fit into memory.
Result<std::shared_ptr<Workshop>> MakeWorkshop(Loop& loop, Device& device,
                                               const wire::AcceptT& accept);

}  // namespace motley
