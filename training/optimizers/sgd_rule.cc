// SPDX-License-Identifier: Apache-2.0
#include "training/optimizers/sgd_rule.h"

namespace motley {
namespace {

void Descend(const RuleUpdate& by) {
  by.kernels.sgd(by.queue, by.count, static_cast<float>(by.rate), by.gradient, by.parameters);
}

}  // namespace

const OptimizerRule kSgd = {.name = "sgd",
                            .help = "steps along the gradient",
                            .state_arrays = 0,
                            .rates = {.network = 0.1, .factorization = 0.1, .one_layer = 0.1},
                            .follows_gradient = true,
                            .options = {},
                            .update = Descend};

}  // namespace motley
