// SPDX-License-Identifier: Apache-2.0
// A trainer as a caller might bring it: linear regression by least squares.
#pragma once

#include <memory>

#include "data/dataset.h"
#include "training/trainers/callback_trainer.h"

namespace motley {

// One weight per feature, then the bias. Uses the samples that come with the work, or those of
// `data` (borrowed) where none do. Without `keeps_account`, it has no `hold`; with it, work on
// samples that were not held before is kInternal, so each worker needs one of its own.
std::shared_ptr<const ForeignTrainer> MakeSquaresTrainer(const Dataset& data, bool keeps_account);

}  // namespace motley
