// SPDX-License-Identifier: Apache-2.0
// A step policy that watches another and does its arithmetic: every vector that arrives stands for
// a known sum of partitions, and what ends a step has to give each partition exactly once by the
// scheme's own decoder.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "scheduler/step/partial_step.h"
#include "scheduler/step/step_policy.h"

namespace motley {

class AccountChecker final : public StepPolicy {
 public:
  // A vector that came: partitions of row `row`, added with its coefficients.
  struct Vector {
    WorkerId worker;
    RowId row;
    std::vector<PartitionId> partitions;
  };
  // Empty when these vectors, of workers that were not lost when they came, are enough; otherwise
  // what is wrong.
  using Judge = std::function<std::string(const std::vector<Vector>&)>;

  AccountChecker(const StepSetting& setting, StepPolicy& policy, Judge judge);

  void Begin(std::vector<StepCommand>& out) override;
  void OnEvent(const StepEvent& event, double now, std::vector<StepCommand>& out) override;
  double NextTick() const override { return policy_.NextTick(); }
  double vector_fraction() const override { return policy_.vector_fraction(); }
  uint32_t sends_every() const override { return policy_.sends_every(); }
  bool resends() const override { return policy_.resends(); }
  bool wants_progress() const override { return policy_.wants_progress(); }

  // What was not begun may be taken back.
  void AllowRevokes() { revokes_ = true; }

  const std::vector<std::string>& violations() const { return violations_; }

 private:
  struct Entry {
    PartitionId partition;
    RowId row;
  };
  void See(const std::vector<StepCommand>& commands, size_t from);

  const StepSetting& setting_;
  StepPolicy& policy_;
  Judge judge_;
  std::vector<std::deque<Entry>> lists_;  // By worker: what no vector covers yet.
  std::vector<bool> lost_;
  bool revokes_ = false;
  std::vector<Vector> vectors_;
  std::vector<std::string> violations_;
};

}  // namespace motley
