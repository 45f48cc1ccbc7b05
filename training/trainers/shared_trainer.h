// SPDX-License-Identifier: Apache-2.0
// A built-in model on several devices of one machine that form one worker. The devices share each
// gradient in proportion to their learned speeds, and their sums are added before they leave the
// trainer. Which samples a device sums depends on the speed of the others, so the last bits of a
// sum may vary; equal cuts give equal sums. It also serves a single device with memory of its own,
// whose sum of many pieces is copied back once.
#pragma once

#include <memory>

#include "training/trainers/trainer.h"

namespace motley {

// Like MakeModelTrainer, on the parts of `device`, or on `device` itself if it has none. A part
// that fails gets no more work, `lost` is called on the loop thread, and the others repeat its
// share. If the last one fails, the trainer fails.
std::unique_ptr<Trainer> MakeSharedTrainer(Loop& loop, Device& device, const Model& model,
                                           const PartitionStore& store, BatchSchedule schedule,
                                           DeviceLost lost);

}  // namespace motley
