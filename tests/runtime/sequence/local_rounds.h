// SPDX-License-Identifier: Apache-2.0
// Rounds of steps that workers take on their own (local:H, local:H,K): the steps of each answer
// that counted, one after the other, then the outer update. Steps ahead of a round begin where the
// worker's last one ended.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "tests/runtime/sequence/sequential_training.h"

namespace motley {

class LocalRounds : public SequentialTraining {
 public:
  explicit LocalRounds(JobWorld& world);

  uint64_t rows_ahead() const { return rows_ahead_; }  // Their workers went on from steps ahead.
  uint32_t fewest_steps() const { return fewest_; }    // Own steps in an answer.

 private:
  // The end of a worker's last round that counted.
  struct RoundEnd {
    StepId round = 0;
    std::vector<CodeEntry> row;
    Values values;
  };

  // The own steps of an answer.
  struct Turns {
    StepId round = 0;
    RowId row = 0;
    uint32_t count = 0;
  };

  void OnEvent(const JobEvent& event) override;
  const Values& newest() const override { return values_; }
  void Assigned(const event::RowAssigned& assigned);
  void Decoded(const event::StepDecoded& decoded);
  // Adds the answer that a row should have, and returns its number of samples.
  size_t AddAnswer(StepId round, RowId row, Values& sum);
  // Takes own steps [from, to).
  void Take(const Turns& all, uint32_t from, uint32_t to, Values& velocity, Values& values) const;
  void ExpectSameRow(StepId round, RowId row, const RoundEnd& last) const;

  // The open round: the partitions of each row, and if its answer counts.
  std::vector<std::vector<CodeEntry>> rows_;
  std::vector<bool> counted_;
  std::map<RowId, WorkerId> owner_;
  std::map<RowId, bool> ahead_;  // The owner goes on from steps ahead.
  Values values_;
  Values outer_;  // The outer update's momentum.
  std::map<WorkerId, Values> velocity_;
  std::map<WorkerId, RoundEnd> ends_;
  uint64_t rows_ahead_ = 0;
  uint32_t fewest_ = UINT32_MAX;
};

}  // namespace motley
