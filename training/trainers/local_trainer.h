// SPDX-License-Identifier: Apache-2.0
// Local steps (DiLoCo, Douillard et al., arXiv 2311.08105): a worker that is asked for the sum of a
// round's terms takes steps of an optimizer of its own on their samples, and answers with what
// these steps changed, weighted by the number of samples:
//
//   weight of the samples * (parameters of the round - parameters after the last step)
//
// The sum of such answers over the sum of weights is the outer gradient. A worker with m samples in
// the round takes max(1, round(m / batch)) steps. Step j of H takes every H-th sample from the j-th
// on (TurnOf), so no sample is used twice, and each step has its part of every partition.
//
// The optimizer keeps its state from round to round. A round that is cancelled or fails leaves no
// trace in it.
//
// While answers and the next version travel, the worker may take the first steps of the next round,
// on the same partitions (GoAhead). They begin where the last round ended for it. When the next
// version v comes, the worker takes over what these steps changed:
//
//   round t     from v(t) to w                     answer: weight * (v(t) - w)
//   ahead       2 of 5 steps of t + 1: from w to w'
//   round t+1   from v(t+1) + (w' - w), 3 steps    answer: weight * (v(t+1) - parameters then)
//
// The last step of a round is never taken ahead. If round t + 1 has other partitions, or the answer
// to round t does not count, the steps ahead leave no trace, as if the round was cancelled.
#pragma once

#include <cstdint>
#include <memory>

#include "base/loop/loop.h"
#include "devices/device.h"
#include "training/optimizers/optimizer.h"
#include "training/trainers/host_vector.h"
#include "training/trainers/trainer.h"

namespace motley {

struct LocalSteps {
  uint32_t batch = 0;  // Samples of a worker's own step, about; 0: workers take no such steps.
  // Its schedule follows the rounds, and is not plateau, which no worker could follow.
  OptimizerOptions optimizer;
  uint32_t ahead = 0;  // Steps of the next round that are taken before it begins, at most.
};

// The number of own steps of a worker with so many samples in a round.
uint32_t LocalStepCount(uint64_t samples, uint32_t batch);

// Makes a trainer that takes its gradients from `gradients`, and updates on `device`, which is
// host-accessible. `rounds` is the job's number of rounds, for the schedule. What `gradients` reads
// and writes lies in `memory` (null: the library's). `loop` and `device` are borrowed. Errors are
// those of the optimizer, of its schedule and of HostVector.
Result<std::unique_ptr<Trainer>> MakeLocalTrainer(Loop& loop, Device& device,
                                                  std::unique_ptr<Trainer> gradients,
                                                  const LocalSteps& how, uint64_t rounds,
                                                  OwnMemory memory = nullptr);

}  // namespace motley
