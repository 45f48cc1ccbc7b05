// SPDX-License-Identifier: Apache-2.0
// A built-in model on several devices of one machine that are one worker: they share each gradient
// as their speeds are, learned from gradient to gradient, and their sums are added before anybody
// sees one. Which samples a device sums depends on how fast the others are, so the last bits of a
// sum do, too; for equal cuts they are equal, whoever was done first. Also one device whose memory
// is its own, from which the sum of many pieces is then taken once.
#pragma once

#include <memory>

#include "training/trainers/trainer.h"

namespace motley {

// As MakeModelTrainer, on the parts of `device`, or on itself where it has none. A part that fails
// gets no more work: `lost` is told (loop thread), and the others do what it had begun. The last
// one's failure is the trainer's.
std::unique_ptr<Trainer> MakeSharedTrainer(Loop& loop, Device& device, const Model& model,
                                           const PartitionStore& store, BatchSchedule schedule,
                                           DeviceLost lost);

}  // namespace motley
