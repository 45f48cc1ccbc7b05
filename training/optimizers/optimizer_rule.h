// SPDX-License-Identifier: Apache-2.0
// The list of optimizers. A new one is a rule in a pair of files and a line in optimizer_rule.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "devices/kernels.h"
#include "training/optimizers/optimizer.h"

namespace motley {

// The range of an option's value. An open end is excluded.
struct OptionRange {
  double low;
  bool low_open;
  double high;
  bool high_open;
};
inline constexpr double kLargestOption = 1e30;  // Far from overflow in float.

// An option that a rule reads besides the learning rate, which all of them read.
struct RuleOption {
  const char* name;  // As motley_job_options spells it.
  double OptimizerOptions::*value;
  OptionRange range;
  // The arrays of the state depend on the value, so a job that resumes must keep it.
  bool shapes_state;
  double usual;  // See UsualOptions.
};

// Default learning rates by kind of model.
struct UsualRates {
  double network;  // Also for models of a caller's trainer.
  double factorization;
  double one_layer;
};

// One update of parameters.
struct RuleUpdate {
  const motley_kernels& kernels;
  void* queue;
  const OptimizerOptions& options;
  double rate;     // The learning rate of this update.
  uint64_t steps;  // Updates so far, with this one.
  size_t count;    // Parameters.
  const float* gradient;
  float* state;         // The first state array.
  size_t state_stride;  // From one state array to the next.
  float* parameters;
  double weight = 0;  // The total weight of the batch.
};

struct OptimizerRule {
  const char* name;
  const char* help;  // A line of --help.
  size_t state_arrays;
  UsualRates rates;
  // The length of an update follows that of the gradient. It does not with adam, whose updates are
  // as long as the rate even where gradients are only rounding errors.
  bool follows_gradient;
  std::span<const RuleOption> options;
  void (*update)(const RuleUpdate& by);
};

std::span<const OptimizerRule* const> OptimizerRules();
// Null for an unknown name.
const OptimizerRule* FindOptimizerRule(std::string_view name);
// Null if the rule does not read the option.
const RuleOption* FindOption(const OptimizerRule& rule, std::string_view name);
// All options that some rule reads, each once.
std::vector<const RuleOption*> RuleOptions();
// The rules that read an option, in the order of the list.
std::vector<const OptimizerRule*> RulesThatRead(std::string_view option);

std::vector<std::string> OptimizerNames();
// "a, b or c"; "a, b and c" with another last word.
std::string NamesOfRules(std::span<const OptimizerRule* const> rules, std::string_view last = "or");
// Vectors of the parameters' length that the optimizer keeps between updates; 0 for an unknown
// name.
size_t OptimizerVectors(std::string_view name);
// The options of a job whose user gives only the optimizer's name. An unknown name gets those of
// OptimizerOptions.
OptimizerOptions UsualOptions(std::string_view name);

}  // namespace motley
