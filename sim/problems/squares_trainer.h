// SPDX-License-Identifier: Apache-2.0
// An example of a caller's trainer: linear regression by least squares.
#pragma once

#include <memory>

#include "data/dataset.h"
#include "training/trainers/callback_trainer.h"

namespace motley {

// Parameters are one weight per feature, then the bias. The trainer uses the samples that come with
// the work, or those of `data` (borrowed) if none do. With `keeps_account` it has `hold`, and work
// on samples that were not held before is kInternal; each worker then needs its own trainer.
std::shared_ptr<const ForeignTrainer> MakeSquaresTrainer(const Dataset& data, bool keeps_account);

}  // namespace motley
