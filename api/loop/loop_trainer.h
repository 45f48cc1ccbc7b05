// SPDX-License-Identifier: Apache-2.0
// The caller's own loop as a trainer of the runtime: each call becomes work that a StepExchange
// offers.
#pragma once

#include <functional>
#include <memory>

#include "api/loop/step_exchange.h"
#include "base/status.h"
#include "motley/step.h"
#include "runtime/saving/saved_job.h"
#include "training/trainers/callback_trainer.h"

namespace motley {

// What a loop's trainer calls, on any thread.
struct LoopDoor {
  StepExchange& exchange;              // Borrowed.
  std::function<bool()> stopped;       // Work that nobody took is no longer wanted.
  std::function<double()> batch_loss;  // Mean loss of the batch whose update is applied.
};

// kInvalidArgument: an unknown struct_size or flag, or no parameters. `serves` and `computes` say
// what a job of this role does.
Result<std::shared_ptr<const ForeignTrainer>> MakeLoopTrainer(const motley_loop& loop, bool serves,
                                                              bool computes, LoopDoor door);

// Shows the loop what its job goes on with, as a step of the kind INITIALIZE; `with_state`: also
// what the optimizer keeps. kCancelled: the job was stopped.
Status OfferResumed(const LoopDoor& door, const SavedJob& saved, bool with_state);

}  // namespace motley
