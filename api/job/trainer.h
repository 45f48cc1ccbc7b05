// SPDX-License-Identifier: Apache-2.0
// Wraps a program's callbacks (motley/trainer.h) as a trainer of the runtime.
#pragma once

#include <functional>
#include <memory>

#include "base/status.h"
#include "motley/trainer.h"
#include "training/trainers/callback_trainer.h"

namespace motley {

// kInvalidArgument: an unknown struct_size, no parameters, or no accumulate where `computes`. The
// result borrows the data that the callbacks work on. `batch_loss` gives the mean loss of the batch
// whose update is applied.
Result<std::shared_ptr<const ForeignTrainer>> MakeForeign(const motley_trainer& trainer,
                                                          bool computes,
                                                          std::function<double()> batch_loss);

}  // namespace motley
