// SPDX-License-Identifier: Apache-2.0
#include "training/optimizers/optimizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

#include "base/suggest.h"
#include "coding/kernels/combine.h"
#include "training/optimizers/gap_penalty.h"
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

  size_t end() const { return begin + count; }
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

// What all blocks of an update share.
struct Pass {
  const motley_kernels& kernels;
  void* queue;
  float mean;  // Multiplies the gradient.
  float clip;  // Then this does; 1: nothing to clip.
  double rate_factor;
  uint64_t steps;
  const Contribution& from;
  const float* before;
  float* gradient;
  float* state;
  float* next;
};

class KernelOptimizer final : public Optimizer {
 public:
  // The rule gets at most `block` parameters at a time.
  KernelOptimizer(const OptimizerOptions& options, OwnRule rule, size_t count, size_t begin,
                  size_t state_count, size_t block)
      : options_(options),
        pieces_(CutByGroups(options, count, begin)),
        rule_(std::move(rule)),
        count_(count),
        block_(block),
        state_(state_count) {
    if (options.old_gradients == OldGradients::kGap) gap_.emplace(count, pieces_.size());
  }

  Status Apply(Device& device, std::span<float> gradient, std::span<float> parameters,
               const Contribution& from) override {
    return Update(device, gradient, parameters, parameters, from, nullptr);
  }

  Result<bool> Advance(Device& device, std::span<float> gradient, std::span<const float> before,
                       std::span<float> next, const Contribution& from) override {
    std::atomic<bool> finite = true;
    MOTLEY_RETURN_IF_ERROR(Update(device, gradient, before, next, from, &finite));
    return finite.load();
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
  Status Check(std::span<const float> gradient, std::span<const float> before,
               std::span<const float> next, const Contribution& from) const {
    if (gradient.size() != count_ || before.size() != count_ || next.size() != count_ ||
        !(from.weight >= 0) || std::isinf(from.weight)) {
      return Status::InvalidArgument(
          fmt::format("an optimizer of {} parameters cannot apply a gradient of {} to {} for "
                      "samples of weight {}",
                      count_, gradient.size(), next.size(), from.weight));
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
    if (gap_ && from.staleness > 0 && from.computed_with.size() != count_) {
      return Status::InvalidArgument(fmt::format(
          "the gap of a gradient that is {} updates old, computed with {} parameters of {}",
          from.staleness, from.computed_with.size(), count_));
    }
    return Status::Ok();
  }

  // `finite` becomes false if a new value is not; null: they are not checked.
  Status Update(Device& device, std::span<float> gradient, std::span<const float> before,
                std::span<float> next, const Contribution& from, std::atomic<bool>* finite) {
    MOTLEY_RETURN_IF_ERROR(Check(gradient, before, next, from));
    const size_t own = state_.size() / std::max(options_.states, 1U);
    const bool fades = options_.old_gradients == OldGradients::kRate && from.staleness > 1;
    const size_t blocks = count_ / block_ + (count_ % block_ != 0);
    Pass pass{device.kernels(),
              // Several blocks have a thread each.
              blocks > 1 ? nullptr : device.queue(),
              from.weight > 0 ? static_cast<float>(1.0 / from.weight) : 0.0f, 1,
              from.rate_factor / (fades ? static_cast<double>(from.staleness) : 1), steps_ + 1,
              from, before.data(), gradient.data(),
              state_.data() + (options_.states > 0 ? *from.worker * own : 0), next.data()};
    Clip(device, gradient, pass);
    for (size_t i = 0; gap_ && i < pieces_.size(); ++i) gap_->Begin(i, RateOf(pass, pieces_[i]));
    Status status;  // Only a rule with a single block may fail.
    const auto run = [&](size_t begin, size_t end) {
      for (size_t block = begin; block < end; ++block) {
        const size_t first = block * block_;
        const size_t count = std::min(block_, count_ - first);
        const Status done = UpdateBlock(pass, first, count);
        if (blocks == 1) status = done;
        const bool checks = finite != nullptr && done.ok();
        if (checks && !std::isfinite(SumOfSquares(next.subspan(first, count)))) *finite = false;
      }
    };
    blocks > 1 ? device.parallel().For(blocks, 1, run) : run(0, blocks);
    if (status.ok()) steps_ = pass.steps;
    if (status.ok() && gap_) gap_->End();
    return status;
  }

  // Only the norm of the whole gradient says if it is clipped.
  void Clip(Device& device, std::span<float> gradient, Pass& pass) const {
    if (options_.clip == 0) return;
    if (!pass.from.norm) {
      device.kernels().scale(device.queue(), count_, std::exchange(pass.mean, 1.0f),
                             gradient.data());
    }
    const double norm = pass.from.norm ? *pass.from.norm : std::sqrt(SumOfSquares(gradient));
    // As PyTorch's clip_grad_norm_, so that the same script has the same losses in both.
    const double factor = options_.clip / (norm + 1e-6);
    if (factor < 1) pass.clip = static_cast<float>(factor);
  }

  static double RateOf(const Pass& pass, const Piece& piece) {
    const std::vector<double>& rates = pass.from.group_rates;
    return (rates.empty() ? piece.options.learning_rate : rates[piece.group]) * pass.rate_factor;
  }

  Status UpdateBlock(const Pass& pass, size_t begin, size_t count) {
    float* const g = pass.gradient + begin;
    float* const w = pass.next + begin;
    if (pass.before != pass.next) std::copy_n(pass.before + begin, count, w);
    if (pass.mean != 1) pass.kernels.scale(pass.queue, count, pass.mean, g);
    if (pass.clip != 1) pass.kernels.scale(pass.queue, count, pass.clip, g);
    const auto ends_before = [](const Piece& piece, size_t at) { return piece.end() <= at; };
    auto piece = std::lower_bound(pieces_.begin(), pieces_.end(), begin, ends_before);
    for (size_t at = begin; at < begin + count; at = piece->end(), ++piece) {
      const size_t part = std::min(piece->end(), begin + count) - at;
      MOTLEY_RETURN_IF_ERROR(UpdatePart(pass, *piece, at, part));
    }
    return Status::Ok();
  }

  Status UpdatePart(const Pass& pass, const Piece& piece, size_t begin, size_t count) {
    float* const g = pass.gradient + begin;
    float* const w = pass.next + begin;
    const auto l2 = static_cast<float>(piece.options.l2);
    if (l2 != 0) pass.kernels.axpy(pass.queue, count, l2, w, g);
    float* const state = state_.empty() ? nullptr : pass.state + begin;
    const RuleUpdate update{
        pass.kernels, pass.queue, piece.options,   RateOf(pass, piece), pass.steps, count, g, state,
        count_,       w,          pass.from.weight};
    if (!gap_) return rule_(update);
    const auto number = static_cast<size_t>(&piece - pieces_.data());
    if (pass.from.staleness > 0) {
      gap_->Divide(number, begin, count, w, pass.from.computed_with.data() + begin, g);
    }
    std::vector<float> own;  // The rule may overwrite what was before.
    if (pass.before == pass.next) own.assign(w, w + count);
    const Status done = rule_(update);
    const float* const before = own.empty() ? pass.before + begin : own.data();
    if (done.ok()) gap_->Measure(number, begin, count, before, w);
    return done;
  }

  OptimizerOptions options_;
  const std::vector<Piece> pieces_;
  OwnRule rule_;
  size_t count_;
  size_t block_;
  uint64_t steps_ = 0;
  std::vector<float> state_;
  std::optional<GapPenalty> gap_;  // None if old gradients are as others.
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
      rule.state_arrays * parameter_count * std::max(options.states, 1U), kUpdateBlock));
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
  return std::unique_ptr<Optimizer>(
      std::make_unique<KernelOptimizer>(options, std::move(rule), parameter_count, /*begin=*/0,
                                        state_count, std::max<size_t>(parameter_count, 1)));
}

}  // namespace motley
