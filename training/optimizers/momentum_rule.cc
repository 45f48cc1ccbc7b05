// SPDX-License-Identifier: Apache-2.0
#include "training/optimizers/momentum_rule.h"

namespace motley {
namespace {

constexpr RuleOption kOptions[] = {{.name = "momentum",
                                    .value = &OptimizerOptions::momentum,
                                    .range = {0, false, 1, true},
                                    .shapes_state = true,
                                    .usual = 0.9}};
constexpr UsualRates kRates = {.network = 0.1, .factorization = 0.1, .one_layer = 0.1};

template <int nesterov>
void Move(const RuleUpdate& by) {
  by.kernels.momentum(by.queue, by.count, static_cast<float>(by.rate),
                      static_cast<float>(by.options.momentum), nesterov, by.gradient, by.state,
                      by.parameters);
}

}  // namespace

const OptimizerRule kMomentum = {.name = "momentum",
                                 .help = "keeps a part of the last step (heavy ball)",
                                 .state_arrays = 1,
                                 .rates = kRates,
                                 .follows_gradient = true,
                                 .options = kOptions,
                                 .update = Move<0>};

const OptimizerRule kNesterov = {.name = "nag",
                                 .help = "Nesterov's momentum",
                                 .state_arrays = 1,
                                 .rates = kRates,
                                 .follows_gradient = true,
                                 .options = kOptions,
                                 .update = Move<1>};

}  // namespace motley
