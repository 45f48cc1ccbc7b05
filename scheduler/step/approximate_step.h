// SPDX-License-Identifier: Apache-2.0
// A policy with rows of a code that ends before an exact step would: after a number of rows, or at
// a deadline with the rows that came (at least one). A step also ends as soon as it decodes
// exactly. The remaining error is that of the optimal decoder in coding/decode/approximate.h.
#pragma once

#include <limits>
#include <memory>
#include <vector>

#include "coding/code_form.h"
#include "scheduler/step/row_code.h"
#include "scheduler/step/step_policy.h"

namespace motley {

struct ApproximateLimits {
  uint32_t quorum = 1;  // Enough rows; if fewer workers are left, their rows are enough.
  double deadline_seconds = std::numeric_limits<double>::infinity();
};

class ApproximateStep final : public StepPolicy {
 public:
  // `code` is RowCodeOf(form).
  ApproximateStep(std::shared_ptr<const StepSetting> setting, std::shared_ptr<const CodeForm> form,
                  std::shared_ptr<const RowCode> code, const ApproximateLimits& limits);

  void Begin(std::vector<StepCommand>& out) override;
  void OnEvent(const StepEvent& event, double now, std::vector<StepCommand>& out) override;
  double NextTick() const override { return next_tick_; }
  bool wants_progress() const override { return false; }

  // (1/k) ||a B - 1||^2 of the best weights for the rows that came: 0 is exact, 1 is nothing.
  double Error() const;

 private:
  bool Enough(double now) const;

  std::shared_ptr<const StepSetting> setting_;
  std::shared_ptr<const CodeForm> form_;
  std::shared_ptr<const RowCode> code_;
  ApproximateLimits limits_;
  ArrivedRows arrived_;
  std::vector<bool> live_;
  uint32_t under_way_ = 0;  // Rows of live workers that have not come.
  double next_tick_;
};

}  // namespace motley
