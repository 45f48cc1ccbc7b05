// SPDX-License-Identifier: Apache-2.0
// Turns a summed gradient into a parameter update with device kernels. This is the only place that
// divides by the batch's weight and adds the L2 term.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "devices/device.h"

namespace motley {

// A range of the parameters with numbers of its own, in the place of those of OptimizerOptions. It
// begins where the group before it ends.
struct ParameterGroup {
  uint64_t end = 0;
  double learning_rate = 0;  // At least 0.
  double l2 = 0;
  double weight_decay = 0;
  bool operator==(const ParameterGroup&) const = default;
};

// What becomes of gradients whose parameters are updates old.
enum class OldGradients : uint8_t {
  kAsOthers,
  kRate,  // The rate is divided by their staleness (Zhang et al., arXiv 1511.05950).
  kGap,   // They are divided by how far each parameter has moved (GapPenalty).
};

struct OptimizerOptions {
  std::string name = "sgd";  // One of OptimizerNames(), in optimizer_rule.h.
  double learning_rate = 0.1;
  double l2 = 0;  // Adds l2 * w to the mean gradient.
  // The optimizer's rule says which of these it reads.
  double momentum = 0.9;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  // Decoupled from the gradient: each update also subtracts rate * weight_decay * w.
  double weight_decay = 0;
  double clip = 0;  // Longer mean gradients are scaled down to this norm; 0: never.
  std::string schedule = "constant";   // See ParseSchedule; the caller of Apply follows it.
  std::vector<ParameterGroup> groups;  // All parameters, range by range; none: all are alike.
  // Each of so many workers has state of its own, which its updates alone use and change; 0: all
  // share one. With nag this is DANA (Hakimi et al., arXiv 1907.11612): v_i = m v_i + g,
  // w -= rate (g + m v_i), where w are the parameters that workers get.
  uint32_t states = 0;
  OldGradients old_gradients = OldGradients::kAsOthers;
};

// What an update is made of, besides the summed gradient.
struct Contribution {
  // Total weight of the samples, at least 0. For weight 0 the mean gradient is 0.
  double weight = 0;
  double rate_factor = 1;          // Multiplies the learning rate.
  std::optional<WorkerId> worker;  // The only worker that contributed; none: all of a step.
  uint64_t staleness = 0;          // Updates that were applied since the gradient's parameters.
  // The parameters that the gradient was computed with. Only kGap reads them, for staleness > 0.
  std::span<const float> computed_with;
  // The norm of the mean gradient if this is only a range of it; none: it is computed here. Only
  // clipping reads it.
  std::optional<double> norm;
  std::vector<double> group_rates;  // Learning rates by group; none: those of the groups.
};

// The staleness of the updates of a job. With a barrier it is 0.
struct StalenessRecord {
  uint64_t updates = 0;
  uint64_t sum = 0;
  uint64_t max = 0;

  double mean() const {
    return updates > 0 ? static_cast<double>(sum) / static_cast<double>(updates) : 0;
  }
};

struct RuleUpdate;  // optimizer_rule.h
// An update of the caller's own, on the device's thread. After a failure with kCancelled nothing
// was changed; after another one, anything may be.
using OwnRule = std::function<Status(const RuleUpdate& by)>;

// Parameters that an update takes through all of its work before it begins with the next ones.
// Gradient, parameters and state of so many fit the cache of a core.
inline constexpr size_t kUpdateBlock = size_t{1} << 15;

class Optimizer {
 public:
  // kInvalidArgument: unknown name, or a rate or constant out of range; the message has the range.
  // `begin` is the place of the first parameter in the vector that the groups cut.
  static Result<std::unique_ptr<Optimizer>> Create(const OptimizerOptions& options,
                                                   size_t parameter_count, size_t begin = 0);
  // The same with the caller's rule instead of the one that `options` name. Its state has
  // `state_count` floats, which begin as 0. It has no groups.
  static Result<std::unique_ptr<Optimizer>> CreateOwn(const OptimizerOptions& options,
                                                      size_t parameter_count, size_t state_count,
                                                      OwnRule rule);
  virtual ~Optimizer() = default;

  // Runs on the device's thread; the device must be host-accessible. `gradient` is the sum over
  // samples of total weight `from.weight`. It is overwritten with the mean, clipped, plus L2.
  // kInvalidArgument: another length, a weight that is negative or not finite, rates that lack
  // a group, no worker where workers have states, or no parameters of an old gradient. Also returns
  // errors of the caller's rule.
  virtual Status Apply(Device& device, std::span<float> gradient, std::span<float> parameters,
                       const Contribution& from) = 0;
  // The same for the next version of the parameters, which begins as a copy of `before`. They may
  // be the same memory. True: all new values are finite. Copy, update and check are one pass over
  // memory (kUpdateBlock), on the threads of the device. The bits are those of Apply.
  virtual Result<bool> Advance(Device& device, std::span<float> gradient,
                               std::span<const float> before, std::span<float> next,
                               const Contribution& from) = 0;
  // Contribution::norm is needed if the optimizer has only a range of the parameters.
  virtual bool needs_norm() const = 0;
  // State besides the parameters, for checkpoints: steps taken, and the state arrays.
  virtual uint64_t steps() const = 0;
  virtual std::span<float> state() = 0;
  // Continues after so many steps. The caller has filled in state().
  virtual void SetSteps(uint64_t steps) = 0;
  // Continues from steps() and state() of an optimizer of the same name. kInvalidArgument: state of
  // another length; nothing is changed.
  virtual Status Restore(uint64_t steps, std::span<const float> state) = 0;
};

}  // namespace motley
