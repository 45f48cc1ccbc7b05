// SPDX-License-Identifier: Apache-2.0
// I11: audits find fault with nobody who is honest; and where each step is audited, who lies is
// named for the first step whose sum it spoils.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "runtime/job.h"
#include "sim/checkers/violations.h"

namespace motley {

class AuditChecker final : public JobObserver {
 public:
  // `liar`: the name of the worker that may lie; empty: all are honest.
  AuditChecker(Violations& violations, std::string liar)
      : violations_(violations), liar_(std::move(liar)) {}

  void OnAuditWarning(const AuditWarning& warning) override;
  // The step's sum was wrong, which only a lie can be blamed for.
  void Spoilt(StepId step);
  // The job has ended, and so have its audits.
  void Finish();
  uint64_t named() const { return named_; }

 private:
  Violations& violations_;
  const std::string liar_;
  std::optional<StepId> first_spoilt_;
  std::optional<StepId> first_warned_;
  uint64_t named_ = 0;
};

}  // namespace motley
