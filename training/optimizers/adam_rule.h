// SPDX-License-Identifier: Apache-2.0
// Adam (Kingma and Ba 2015), and AdamW with decoupled weight decay (Loshchilov and Hutter 2019).
#pragma once

#include "training/optimizers/optimizer_rule.h"

namespace motley {

extern const OptimizerRule kAdam;
extern const OptimizerRule kAdamW;

}  // namespace motley
