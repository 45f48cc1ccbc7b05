// SPDX-License-Identifier: Apache-2.0
#include "training/optimizers/optimizer_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "training/optimizers/adam_rule.h"
#include "training/optimizers/momentum_rule.h"
#include "training/optimizers/sgd_rule.h"

namespace motley {
namespace {

constexpr const OptimizerRule* kRules[] = {&kSgd, &kMomentum, &kNesterov, &kAdam, &kAdamW};

}  // namespace

std::span<const OptimizerRule* const> OptimizerRules() { return kRules; }

const OptimizerRule* FindOptimizerRule(std::string_view name) {
  const auto* found = std::find_if(std::begin(kRules), std::end(kRules),
                                   [&](const OptimizerRule* each) { return each->name == name; });
  return found != std::end(kRules) ? *found : nullptr;
}

const RuleOption* FindOption(const OptimizerRule& rule, std::string_view name) {
  const auto found = std::find_if(rule.options.begin(), rule.options.end(),
                                  [&](const RuleOption& each) { return each.name == name; });
  return found != rule.options.end() ? &*found : nullptr;
}

std::vector<const RuleOption*> RuleOptions() {
  std::vector<const RuleOption*> options;
  for (const OptimizerRule* rule : kRules) {
    for (const RuleOption& option : rule->options) {
      const bool known = std::any_of(options.begin(), options.end(), [&](const RuleOption* each) {
        return each->value == option.value;
      });
      if (!known) options.push_back(&option);
    }
  }
  return options;
}

std::vector<const OptimizerRule*> RulesThatRead(std::string_view option) {
  std::vector<const OptimizerRule*> rules;
  std::copy_if(std::begin(kRules), std::end(kRules), std::back_inserter(rules),
               [&](const OptimizerRule* each) { return FindOption(*each, option) != nullptr; });
  return rules;
}

std::vector<std::string> OptimizerNames() {
  std::vector<std::string> names;
  for (const OptimizerRule* rule : kRules) names.emplace_back(rule->name);
  return names;
}

std::string NamesOfRules(std::span<const OptimizerRule* const> rules, std::string_view last) {
  std::string text;
  for (size_t i = 0; i < rules.size(); ++i) {
    if (i > 0) text += i + 1 < rules.size() ? ", " : fmt::format(" {} ", last);
    text += rules[i]->name;
  }
  return text;
}

size_t OptimizerVectors(std::string_view name) {
  const OptimizerRule* rule = FindOptimizerRule(name);
  return rule != nullptr ? rule->state_arrays : 0;
}

OptimizerOptions UsualOptions(std::string_view name) {
  OptimizerOptions options;
  options.name = name;
  if (const OptimizerRule* rule = FindOptimizerRule(name); rule != nullptr) {
    options.learning_rate = rule->rates.network;
    for (const RuleOption& option : rule->options) options.*option.value = option.usual;
  }
  return options;
}

}  // namespace motley
