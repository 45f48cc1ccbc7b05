// SPDX-License-Identifier: Apache-2.0
// The caller's own loop as a trainer of the runtime: each call becomes work that a StepExchange
// offers.
#pragma once

#include <functional>
#include <memory>

#include "api/loop/step_exchange.h"
#include "base/status.h"
#include "motley/step.h"
#include "training/trainers/callback_trainer.h"

namespace motley {

// kInvalidArgument: an unknown struct_size or flag, or no parameters. `serves` and `computes` say
// what a job of this role does. The exchange is borrowed. Once `stopped` returns true, work that
// nobody took is no longer wanted; any thread calls it.
Result<std::shared_ptr<const ForeignTrainer>> MakeLoopTrainer(const motley_loop& loop, bool serves,
                                                              bool computes, StepExchange& exchange,
                                                              std::function<bool()> stopped);

}  // namespace motley
