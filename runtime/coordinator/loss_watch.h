// SPDX-License-Identifier: Apache-2.0
// Notices when a training diverges: its loss is no number any more, or has become so many times
// what it was at first and stays there. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "base/ids.h"
#include "runtime/job_notice.h"

namespace motley {

class LossWatch {
 public:
  // The mean loss of a step's batch, step by step. What to report, at most once.
  std::optional<notice::Diverges> Add(StepId step, double batch_loss);

 private:
  std::optional<double> first_;
  int far_ = 0;  // Steps in a row.
  bool told_ = false;
};

}  // namespace motley
