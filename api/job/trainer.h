// SPDX-License-Identifier: Apache-2.0
// A program's callbacks (motley/trainer.h) as the runtime's trainer.
#pragma once

#include <memory>

#include "base/status.h"
#include "motley/trainer.h"
#include "training/trainers/callback_trainer.h"

namespace motley {

// kInvalidArgument: a struct_size that is none, no parameters, no accumulate where `computes`.
// What the callbacks work on is borrowed by the result.
Result<std::shared_ptr<const ForeignTrainer>> MakeForeign(const motley_trainer& trainer,
                                                          bool computes);

}  // namespace motley
