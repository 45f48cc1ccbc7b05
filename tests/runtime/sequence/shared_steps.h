// SPDX-License-Identifier: Apache-2.0
// Steps that all workers share (bsp, backup:B). Each update has the whole batch, or the partitions
// of the answers that came in time. Without copies these count alike.
#pragma once

#include <optional>
#include <vector>

#include "tests/runtime/sequence/sequential_training.h"

namespace motley {

class SharedSteps : public SequentialTraining {
 public:
  // `rate_for`: the learning rate is right for so many samples and grows with them; 0: it is fixed.
  explicit SharedSteps(JobWorld& world, double rate_for = 0);

 private:
  void OnEvent(const JobEvent& event) override;
  const Values& newest() const override { return values_; }
  void Decoded(const event::StepDecoded& decoded);

  double rate_for_;
  Values values_;
  Values first_;  // The optimizer's state.
  Values second_;
  // The rows of the open step, and which of them count, if not all do.
  std::vector<std::vector<CodeEntry>> rows_;
  std::optional<std::vector<bool>> counted_;
};

}  // namespace motley
