// SPDX-License-Identifier: Apache-2.0
// Notices when training diverges: the loss is not finite any more, or has grown to many times its
// first value and stays there. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "base/ids.h"
#include "runtime/job_notice.h"

namespace motley {

class LossWatch {
 public:
  // Takes the mean loss of each step's batch in turn. Returns what to report, at most once.
  std::optional<notice::Diverges> Add(StepId step, double batch_loss);

 private:
  std::optional<double> first_;
  int far_ = 0;  // Steps in a row.
  bool told_ = false;
};

}  // namespace motley
