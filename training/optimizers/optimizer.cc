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

// Parameters of one group.
struct Piece {
  size_t begin;
  size_t count;
  size_t group;
  OptimizerOptions options;  // With the numbers of the group.
};

// Cuts the range that begins at `begin` by groups.
std::vector<Piece> CutByGroups(const OptimizerOptions& options, size_t count, size_t begin) {
  if (options.groups.empty()) return {{0, count, 0, options}};
  std::vector<Piece> pieces;
  size_t done = 0;
  for (size_t number = 0; number < options.groups.size(); ++number) {
    const ParameterGroup& group = options.groups[number];
    const size_t end = std::min<uint64_t>(group.end - std::min<uint64_t>(group.end, begin), count);
    if (end <= done) continue;
    Piece piece{done, end - done, number, options};
    piece.options.learning_rate = group.learning_rate;
    piece.options.l2 = group.l2;
    piece.options.weight_decay = group.weight_decay;
    pieces.push_back(std::move(piece));
    done = end;
  }
  return pieces;
}

class KernelOptimizer final : public Optimizer {
 public:
  KernelOptimizer(const OptimizerOptions& options, OwnRule rule, size_t count, size_t begin,
                  size_t state_count)
      : options_(options),
        pieces_(CutByGroups(options, count, begin)),
        rule_(std::move(rule)),
        count_(count),
        state_(state_count) {}

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
    if (!from.group_rates.empty() && from.group_rates.size() != options_.groups.size()) {
      return Status::InvalidArgument(fmt::format("{} learning rates for {} groups of parameters",
                                                 from.group_rates.size(), options_.groups.size()));
    }
    if (options_.states > 0 && (!from.worker || *from.worker >= options_.states)) {
      return Status::InvalidArgument(
          fmt::format("the optimizer has states of {} workers, and the update is of none of them",
                      options_.states));
    }
    const size_t own = state_.size() / std::max(options_.states, 1U);
    float* const state = state_.data() + (options_.states > 0 ? *from.worker * own : 0);
    const bool fades = options_.rate_by_staleness && from.staleness > 1;
    const double factor = from.rate_factor / (fades ? static_cast<double>(from.staleness) : 1);
    const motley_kernels& kernels = device.kernels();
    void* queue = device.queue();
    kernels.scale(queue, count_, weight > 0 ? static_cast<float>(1.0 / weight) : 0.0f,
                  gradient.data());
    Clip(kernels, queue, gradient, from.norm);
    const uint64_t steps = steps_ + 1;
    for (const Piece& piece : pieces_) {
      float* g = gradient.data() + piece.begin;
      float* w = parameters.data() + piece.begin;
      const auto l2 = static_cast<float>(piece.options.l2);
      if (l2 != 0) kernels.axpy(queue, piece.count, l2, w, g);
      const double rate =
          from.group_rates.empty() ? piece.options.learning_rate : from.group_rates[piece.group];
      MOTLEY_RETURN_IF_ERROR(rule_({kernels, queue, piece.options, rate * factor, steps,
                                    piece.count, g, state + piece.begin, count_, w, weight}));
    }
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
    // As PyTorch's clip_grad_norm_, so that the same script has the same losses in both.
    const double factor = options_.clip / (norm + 1e-6);
    if (factor < 1) kernels.scale(queue, count_, static_cast<float>(factor), gradient.data());
  }

  OptimizerOptions options_;
  const std::vector<Piece> pieces_;
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

constexpr OptionRange kNotNegative = {0, false, kLargestOption, false};

Status CheckGroups(const OptimizerOptions& options, const OptimizerRule& rule, uint64_t count) {
  uint64_t begin = 0;
  for (size_t number = 0; number < options.groups.size(); ++number) {
    const ParameterGroup& group = options.groups[number];
    const std::string where = fmt::format("group {}", number);
    if (group.end < begin) {
      return Status::InvalidArgument(
          fmt::format("{} ends at parameter {}, before its begin at {}", where, group.end, begin));
    }
    begin = group.end;
    const std::pair<const char*, double> numbers[] = {{"learning_rate", group.learning_rate},
                                                      {"l2", group.l2}};
    for (const auto& [name, value] : numbers) {
      MOTLEY_RETURN_IF_ERROR(CheckRange(name, value, kNotNegative).WithContext(where));
    }
    OptimizerOptions alone = options;
    alone.weight_decay = group.weight_decay;
    MOTLEY_RETURN_IF_ERROR(CheckRuleOptions(alone, rule).WithContext(where));
  }
  if (options.groups.empty() || begin >= count) return Status::Ok();
  return Status::InvalidArgument(
      fmt::format("the groups end at parameter {}, and there are {}", begin, count));
}

Status CheckCommonOptions(const OptimizerOptions& options) {
  MOTLEY_RETURN_IF_ERROR(
      CheckRange("learning_rate", options.learning_rate, {0, true, kLargestOption, false}));
  MOTLEY_RETURN_IF_ERROR(CheckRange("l2", options.l2, kNotNegative));
  MOTLEY_RETURN_IF_ERROR(CheckRange("clip", options.clip, kNotNegative));
  return ParseSchedule(options.schedule).status();
}

}  // namespace

Result<std::unique_ptr<Optimizer>> Optimizer::Create(const OptimizerOptions& options,
                                                     size_t parameter_count, size_t begin) {
  MOTLEY_RETURN_IF_ERROR(CheckCommonOptions(options));
  MOTLEY_RETURN_IF_ERROR(CheckChoice("optimizer", options.name, OptimizerNames()));
  const OptimizerRule& rule = *FindOptimizerRule(options.name);
  MOTLEY_RETURN_IF_ERROR(CheckRuleOptions(options, rule));
  MOTLEY_RETURN_IF_ERROR(CheckGroups(options, rule, begin + parameter_count));
  const OwnRule apply = [update = rule.update](const RuleUpdate& by) {
    update(by);
    return Status::Ok();
  };
  return std::unique_ptr<Optimizer>(std::make_unique<KernelOptimizer>(
      options, apply, parameter_count, begin,
      rule.state_arrays * parameter_count * std::max(options.states, 1U)));
}

Result<std::unique_ptr<Optimizer>> Optimizer::CreateOwn(const OptimizerOptions& options,
                                                        size_t parameter_count, size_t state_count,
                                                        OwnRule rule) {
  MOTLEY_RETURN_IF_ERROR(CheckCommonOptions(options));
  if (!options.groups.empty()) {
    return Status::InvalidArgument(
        "groups of parameters and a rule of your own for updates: the rule decides what each "
        "parameter gets. Leave the groups out");
  }
  return std::unique_ptr<Optimizer>(std::make_unique<KernelOptimizer>(
      options, std::move(rule), parameter_count, /*begin=*/0, state_count));
}

}  // namespace motley
