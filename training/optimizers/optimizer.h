// SPDX-License-Identifier: Apache-2.0
// Turns a summed gradient into a parameter update, by device kernels. The division by the batch's
// weight and the L2 term happen here, once.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "devices/device.h"

namespace motley {

struct OptimizerOptions {
  std::string name = "sgd";  // One of OptimizerNames().
  double learning_rate = 0.1;
  double l2 = 0;                                      // Adds l2 * w to the mean gradient.
  double momentum = 0.9;                              // momentum, nag
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;  // adam, adamw
  // Decoupled (Loshchilov and Hutter 2019): each update takes rate * weight_decay * w off the
  // parameters besides; adamw only.
  double weight_decay = 0;
  double clip = 0;  // The mean gradient is scaled down to this norm where it is longer; 0: never.
  std::string schedule = "constant";  // See ParseSchedule; whoever calls Apply follows it.
};

// "sgd", "momentum", "nag", "adam", "adamw".
const std::vector<std::string>& OptimizerNames();
// Vectors as long as the parameters that it keeps between steps; 0 for a name that is none.
size_t OptimizerVectors(std::string_view name);

class Optimizer {
 public:
  // kInvalidArgument: unknown name, a rate or constant out of range (says which range).
  static Result<std::unique_ptr<Optimizer>> Create(const OptimizerOptions& options,
                                                   size_t parameter_count);
  virtual ~Optimizer() = default;

  // On the device's thread, host-accessible devices. `gradient` is the sum over samples that weigh
  // `weight` together, and is overwritten (with the mean, clipped, plus L2). What weighs 0 has the
  // mean 0. The learning rate is multiplied by `rate_factor`.
  virtual Status Apply(Device& device, std::span<float> gradient, double weight,
                       std::span<float> parameters, double rate_factor = 1) = 0;
  // All state besides the parameters (for checkpoints): steps taken and the state arrays.
  virtual uint64_t steps() const = 0;
  virtual std::span<float> state() = 0;
  // Goes on from what steps() and state() of an optimizer of the same name once were.
  // kInvalidArgument: state of another length; nothing is changed then.
  virtual Status Restore(uint64_t steps, std::span<const float> state) = 0;
};

}  // namespace motley
