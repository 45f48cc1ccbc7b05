// SPDX-License-Identifier: Apache-2.0
// Stochastic gradient descent: w -= rate * g.
#pragma once

#include "training/optimizers/optimizer_rule.h"

namespace motley {

extern const OptimizerRule kSgd;

}  // namespace motley
