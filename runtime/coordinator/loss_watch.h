// SPDX-License-Identifier: Apache-2.0
// Notices when a training diverges: its loss is no number any more, or has become so many times
// what it was at first and stays there. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/ids.h"

namespace motley {

class LossWatch {
 public:
  // `unit`: what losses are told in, times the one that they come in.
  explicit LossWatch(double unit = 1) : unit_(unit) {}

  // The mean loss of a step's batch, step by step. A text for people, at most once.
  std::optional<std::string> Add(StepId step, double batch_loss);

 private:
  const double unit_;
  std::optional<double> first_;
  int far_ = 0;  // Steps in a row.
  bool told_ = false;
};

}  // namespace motley
