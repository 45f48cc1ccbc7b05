// SPDX-License-Identifier: Apache-2.0
// I11: audits find fault with nobody who is honest. Where each step is audited, the liar is noticed
// in the second step at the latest whose sum it spoils. One step may pass: where rounding alone may
// change a gradient of few samples by as much as the lie, an audit excuses the difference.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "runtime/job_event.h"
#include "sim/checkers/violations.h"

namespace motley {

class AuditChecker final : public JobObserver {
 public:
  // `liar`: the name of the worker that may lie; empty: all are honest.
  AuditChecker(Violations& violations, std::string liar)
      : violations_(violations), liar_(std::move(liar)) {}

  void OnEvent(const JobEvent& event) override;
  // The step's sum was wrong, which only a lie can be blamed for.
  void Spoilt(StepId step);
  // The job has ended, and so have its audits.
  void Finish();
  uint64_t named() const { return named_; }

 private:
  void On(const event::AuditWarned& event);

  Violations& violations_;
  const std::string liar_;
  std::optional<StepId> first_spoilt_, second_spoilt_;
  std::optional<StepId> first_warned_;
  uint64_t named_ = 0;
};

}  // namespace motley
