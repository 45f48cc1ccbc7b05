// SPDX-License-Identifier: Apache-2.0
// Gradient descent with momentum: v = momentum * v + g; w -= rate * v, or, as Nesterov does,
// w -= rate * (g + momentum * v).
#pragma once

#include "training/optimizers/optimizer_rule.h"

namespace motley {

extern const OptimizerRule kMomentum;
extern const OptimizerRule kNesterov;

}  // namespace motley
