// SPDX-License-Identifier: Apache-2.0
#include "training/optimizers/adam_rule.h"

namespace motley {
namespace {

constexpr OptionRange kBelowOne = {0, false, 1, true};
constexpr RuleOption kOptions[] = {
    {"beta1", &OptimizerOptions::beta1, kBelowOne, /*shapes_state=*/true, 0.9},
    {"beta2", &OptimizerOptions::beta2, kBelowOne, /*shapes_state=*/true, 0.999},
    {"epsilon",
     &OptimizerOptions::epsilon,
     {0, true, kLargestOption, false},
     /*shapes_state=*/true,
     1e-8},
    {"weight_decay",
     &OptimizerOptions::weight_decay,
     {0, false, kLargestOption, false},
     /*shapes_state=*/false,
     0.01}};
// An update is as long as the rate in each parameter. Layers of networks need smaller rates than
// one-layer models and the few factors of a sample.
constexpr UsualRates kRates = {.network = 0.001, .factorization = 0.01, .one_layer = 0.02};

void Adapt(const RuleUpdate& by) {
  by.kernels.adam(by.queue, by.count, static_cast<float>(by.rate),
                  static_cast<float>(by.options.beta1), static_cast<float>(by.options.beta2),
                  static_cast<float>(by.options.epsilon), by.steps, by.gradient, by.state,
                  by.state + by.state_stride, by.parameters);
}

void DecayAndAdapt(const RuleUpdate& by) {
  if (by.options.weight_decay != 0) {
    by.kernels.scale(by.queue, by.count, static_cast<float>(1 - by.rate * by.options.weight_decay),
                     by.parameters);
  }
  Adapt(by);
}

}  // namespace

const OptimizerRule kAdam = {.name = "adam",
                             .help = "scales each parameter's step by its past gradients",
                             .state_arrays = 2,
                             .rates = kRates,
                             .follows_gradient = false,
                             .options = std::span(kOptions).first<3>(),
                             .update = Adapt};

const OptimizerRule kAdamW = {.name = "adamw",
                              .help = "adam, and weights decay apart from the gradient",
                              .state_arrays = 2,
                              .rates = kRates,
                              .follows_gradient = false,
                              .options = kOptions,
                              .update = DecayAndAdapt};

}  // namespace motley
