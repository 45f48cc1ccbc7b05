// SPDX-License-Identifier: Apache-2.0
#include "training/optimizers/optimizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/suggest.h"
#include "coding/kernels/combine.h"
#include "training/optimizers/optimizer_rule.h"
#include "training/optimizers/rate_schedule.h"

namespace motley {
namespace {

class KernelOptimizer final : public Optimizer {
 public:
  KernelOptimizer(const OptimizerOptions& options, OwnRule rule, size_t count, size_t state_count)
      : options_(options), rule_(std::move(rule)), count_(count), state_(state_count) {}

  Status Apply(Device& device, std::span<float> gradient, std::span<float> parameters,
               const Contribution& from) override {
    const double weight = from.weight;
    if (gradient.size() != count_ || parameters.size() != count_ || !(weight >= 0) ||
        std::isinf(weight)) {
      return Status::InvalidArgument(
          fmt::format("an optimizer of {} parameters cannot apply a gradient of {} to {} for "
                      "samples of weight {}",
                      count_, gradient.size(), parameters.size(), weight));
    }
    const motley_kernels& kernels = device.kernels();
    void* queue = device.queue();
    float* g = gradient.data();
    float* w = parameters.data();
    kernels.scale(queue, count_, weight > 0 ? static_cast<float>(1.0 / weight) : 0.0f, g);
    Clip(kernels, queue, gradient, from.norm);
    if (options_.l2 != 0) kernels.axpy(queue, count_, static_cast<float>(options_.l2), w, g);
    const double rate = options_.learning_rate * from.rate_factor;
    const uint64_t steps = steps_ + 1;
    MOTLEY_RETURN_IF_ERROR(
        rule_({kernels, queue, options_, rate, steps, count_, g, state_.data(), w, weight}));
    steps_ = steps;
    return Status::Ok();
  }

  bool needs_norm() const override { return options_.clip > 0; }
  uint64_t steps() const override { return steps_; }
  std::span<float> state() override { return state_; }

  void SetSteps(uint64_t steps) override { steps_ = steps; }

  Status Restore(uint64_t steps, std::span<const float> state) override {
    if (state.size() != state_.size()) {
      return Status::InvalidArgument(
          fmt::format("{} of {} parameters keeps {} values between steps, not {}", options_.name,
                      count_, state_.size(), state.size()));
    }
    steps_ = steps;
    std::copy(state.begin(), state.end(), state_.begin());
    return Status::Ok();
  }

 private:
  void Clip(const motley_kernels& kernels, void* queue, std::span<float> gradient,
            std::optional<double> known) const {
    if (options_.clip == 0) return;
    const double norm = known ? *known : std::sqrt(SumOfSquares(gradient));
    if (!(norm > options_.clip)) return;
    kernels.scale(queue, count_, static_cast<float>(options_.clip / norm), gradient.data());
  }

  OptimizerOptions options_;
  OwnRule rule_;
  size_t count_;
  uint64_t steps_ = 0;
  std::vector<float> state_;
};

Status CheckRange(const char* option, double given, const OptionRange& range) {
  // Kernels use float, so a value that rounds to an open end is out of range as well.
  const double value = static_cast<float>(given);
  const double high = static_cast<float>(range.high);
  const bool inside = (range.low_open ? value > range.low : value >= range.low) &&
                      (range.high_open ? value < high : value <= high);
  if (inside) return Status::Ok();
  std::string words = option;
  std::replace(words.begin(), words.end(), '_', ' ');
  return Status::InvalidArgument(fmt::format("`{}` {}: the {} must be {} {} and {} {}", option,
                                             given, words, range.low_open ? "above" : "at least",
                                             range.low, range.high_open ? "below" : "at most",
                                             range.high));
}

// Also checks options that the chosen rule does not read. An option that is off by default and is
// given to a rule without it is refused.
Status CheckRuleOptions(const OptimizerOptions& options, const OptimizerRule& chosen) {
  for (const OptimizerRule* rule : OptimizerRules()) {
    for (const RuleOption& option : rule->options) {
      const double given = options.*option.value;
      MOTLEY_RETURN_IF_ERROR(CheckRange(option.name, given, option.range));
      const bool off = OptimizerOptions().*option.value == 0;
      if (!off || given == 0 || FindOption(chosen, option.name) != nullptr) continue;
      return Status::InvalidArgument(fmt::format("`{}` {}: {} has none. Use `optimizer` {}",
                                                 option.name, given, chosen.name,
                                                 NamesOfRules(RulesThatRead(option.name))));
    }
  }
  return Status::Ok();
}

Status CheckCommonOptions(const OptimizerOptions& options) {
  constexpr OptionRange kNotNegative = {0, false, kLargestOption, false};
  MOTLEY_RETURN_IF_ERROR(
      CheckRange("learning_rate", options.learning_rate, {0, true, kLargestOption, false}));
  MOTLEY_RETURN_IF_ERROR(CheckRange("l2", options.l2, kNotNegative));
  MOTLEY_RETURN_IF_ERROR(CheckRange("clip", options.clip, kNotNegative));
  return ParseSchedule(options.schedule).status();
}

}  // namespace

Result<std::unique_ptr<Optimizer>> Optimizer::Create(const OptimizerOptions& options,
                                                     size_t parameter_count) {
  MOTLEY_RETURN_IF_ERROR(CheckCommonOptions(options));
  MOTLEY_RETURN_IF_ERROR(CheckChoice("optimizer", options.name, OptimizerNames()));
  const OptimizerRule& rule = *FindOptimizerRule(options.name);
  MOTLEY_RETURN_IF_ERROR(CheckRuleOptions(options, rule));
  const OwnRule apply = [update = rule.update](const RuleUpdate& by) {
    update(by);
    return Status::Ok();
  };
  return std::unique_ptr<Optimizer>(std::make_unique<KernelOptimizer>(
      options, apply, parameter_count, rule.state_arrays * parameter_count));
}

Result<std::unique_ptr<Optimizer>> Optimizer::CreateOwn(const OptimizerOptions& options,
                                                        size_t parameter_count, size_t state_count,
                                                        OwnRule rule) {
  MOTLEY_RETURN_IF_ERROR(CheckCommonOptions(options));
  return std::unique_ptr<Optimizer>(
      std::make_unique<KernelOptimizer>(options, std::move(rule), parameter_count, state_count));
}

}  // namespace motley
