// SPDX-License-Identifier: Apache-2.0
// I11: audits never blame an honest worker. If every step is audited, an audit notices the liar no
// later than the second step whose sum it spoils. One spoilt step may pass: for few samples,
// rounding may change a gradient by as much as the lie, and the audit then allows the difference.
// Steps whose audit was given up, because a node that owns a shard was lost, do not count.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>

#include "runtime/job_event.h"
#include "sim/checkers/violations.h"

namespace motley {

class AuditChecker final : public JobObserver {
 public:
  // `liar` is the name of the worker that may lie; empty if all are honest.
  AuditChecker(Violations& violations, std::string liar)
      : violations_(violations), liar_(std::move(liar)) {}

  void OnEvent(const JobEvent& event) override;
  // Call when the step's sum was wrong by so much that only a lie explains it.
  void Spoilt(StepId step) { spoilt_.insert(step); }
  // Call when the job and its audits have ended.
  void Finish();
  uint64_t named() const { return named_; }

 private:
  void On(const event::AuditWarned& event);
  void On(const event::AuditGivenUp& event) { given_up_.insert(event.step); }

  Violations& violations_;
  const std::string liar_;
  std::set<StepId> spoilt_;
  std::set<StepId> given_up_;
  std::optional<StepId> first_warned_;
  uint64_t named_ = 0;
};

}  // namespace motley
