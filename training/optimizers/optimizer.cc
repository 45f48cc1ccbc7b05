// SPDX-License-Identifier: Apache-2.0
#include "training/optimizers/optimizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/suggest.h"
#include "coding/kernels/combine.h"
#include "training/optimizers/default_rate.h"
#include "training/optimizers/rate_schedule.h"

namespace motley {
namespace {

enum class Rule { kSgd, kMomentum, kNesterov, kAdam, kAdamW };

struct RuleEntry {
  const char* name;
  Rule rule;
  size_t state_arrays;  // Each is as long as the parameters.
  double rate;          // Default rate.
};
constexpr RuleEntry kRules[] = {{"sgd", Rule::kSgd, 0, 0.1},
                                {"momentum", Rule::kMomentum, 1, 0.1},
                                {"nag", Rule::kNesterov, 1, 0.1},
                                {"adam", Rule::kAdam, 2, 0.001},
                                {"adamw", Rule::kAdamW, 2, 0.001}};

class KernelOptimizer final : public Optimizer {
 public:
  KernelOptimizer(const OptimizerOptions& options, const RuleEntry& entry, size_t count)
      : options_(options), rule_(entry.rule), count_(count), state_(entry.state_arrays * count) {}

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
    ++steps_;
    Update(kernels, queue, options_.learning_rate * from.rate_factor, g, w);
    return Status::Ok();
  }

  bool needs_norm() const override { return options_.clip > 0; }
  uint64_t steps() const override { return steps_; }
  std::span<float> state() override { return state_; }

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

  void Update(const motley_kernels& kernels, void* queue, double exact_rate, const float* g,
              float* w) {
    const auto rate = static_cast<float>(exact_rate);
    const auto mu = static_cast<float>(options_.momentum);
    float* first = state_.data();
    switch (rule_) {
      case Rule::kSgd: kernels.sgd(queue, count_, rate, g, w); break;
      case Rule::kMomentum: kernels.momentum(queue, count_, rate, mu, 0, g, first, w); break;
      case Rule::kNesterov: kernels.momentum(queue, count_, rate, mu, 1, g, first, w); break;
      case Rule::kAdamW:
        if (options_.weight_decay != 0) {
          kernels.scale(queue, count_, static_cast<float>(1 - exact_rate * options_.weight_decay),
                        w);
        }
        [[fallthrough]];
      case Rule::kAdam:
        kernels.adam(queue, count_, rate, static_cast<float>(options_.beta1),
                     static_cast<float>(options_.beta2), static_cast<float>(options_.epsilon),
                     steps_, g, first, first + count_, w);
        break;
    }
  }

  OptimizerOptions options_;
  Rule rule_;
  size_t count_;
  uint64_t steps_ = 0;
  std::vector<float> state_;
};

// `value` must lie in [low, high]; an open end is excluded.
struct Bound {
  const char* name;
  double value;
  double low;
  bool low_open;
  double high;
  bool high_open;
};

Status CheckBounds(const OptimizerOptions& options) {
  constexpr double kLargest = 1e30;  // Far from overflow in float.
  const Bound bounds[] = {
      {"learning rate", options.learning_rate, 0, true, kLargest, false},
      {"l2", options.l2, 0, false, kLargest, false},
      {"momentum", options.momentum, 0, false, 1, true},
      {"beta1", options.beta1, 0, false, 1, true},
      {"beta2", options.beta2, 0, false, 1, true},
      {"epsilon", options.epsilon, 0, true, kLargest, false},
      {"weight decay", options.weight_decay, 0, false, kLargest, false},
      {"clip norm", options.clip, 0, false, kLargest, false},
  };
  for (const Bound& bound : bounds) {
    // Kernels use float, so a value that rounds to an open end is out of range as well.
    const double value = static_cast<float>(bound.value);
    const double high = static_cast<float>(bound.high);
    const bool inside = (bound.low_open ? value > bound.low : value >= bound.low) &&
                        (bound.high_open ? value < high : value <= high);
    if (inside) continue;
    return Status::InvalidArgument(fmt::format(
        "the {} must be {} {} and {} {}, not {}", bound.name, bound.low_open ? "above" : "at least",
        bound.low, bound.high_open ? "below" : "at most", bound.high, bound.value));
  }
  return Status::Ok();
}

}  // namespace

double DefaultLearningRate(std::string_view optimizer) {
  for (const RuleEntry& entry : kRules) {
    if (optimizer == entry.name) return entry.rate;
  }
  return OptimizerOptions().learning_rate;
}

const std::vector<std::string>& OptimizerNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const RuleEntry& entry : kRules) all.emplace_back(entry.name);
    return all;
  }();
  return names;
}

size_t OptimizerVectors(std::string_view name) {
  const RuleEntry* found = std::find_if(std::begin(kRules), std::end(kRules),
                                        [&](const RuleEntry& each) { return each.name == name; });
  return found != std::end(kRules) ? found->state_arrays : 0;
}

Result<std::unique_ptr<Optimizer>> Optimizer::Create(const OptimizerOptions& options,
                                                     size_t parameter_count) {
  MOTLEY_RETURN_IF_ERROR(CheckBounds(options));
  MOTLEY_RETURN_IF_ERROR(ParseSchedule(options.schedule).status());
  MOTLEY_RETURN_IF_ERROR(CheckChoice("optimizer", options.name, OptimizerNames()));
  if (options.weight_decay != 0 && options.name != "adamw") {
    return Status::InvalidArgument(
        fmt::format("`weight_decay` {}: {} has none. Use `optimizer` adamw, or `l2`",
                    options.weight_decay, options.name));
  }
  const RuleEntry* entry =
      std::find_if(std::begin(kRules), std::end(kRules),
                   [&](const RuleEntry& each) { return each.name == options.name; });
  return std::unique_ptr<Optimizer>(
      std::make_unique<KernelOptimizer>(options, *entry, parameter_count));
}

}  // namespace motley
