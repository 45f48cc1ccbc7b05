// SPDX-License-Identifier: Apache-2.0
// Codes with fixed rows: every worker computes its row and sends one vector, and the step has
// enough as soon as what came decodes. No feedback while all is well.
//
// When so many workers are lost that the others' rows cannot decode, rows of the lost are made up
// for: their partitions are computed again, with the lost row's coefficients, by live workers that
// hold them, after these have sent what they were at; the sum of such vectors is the lost row. Rows
// of which somebody held the only copy stay lost; when nothing is left to be made up for, the step
// never ends.
#pragma once

#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "scheduler/step/row_code.h"
#include "scheduler/step/step_policy.h"

namespace motley {

class RowStep final : public StepPolicy {
 public:
  RowStep(std::shared_ptr<const StepSetting> setting, std::shared_ptr<const RowCode> code);

  void Begin(std::vector<StepCommand>& out) override;
  void OnEvent(const StepEvent& event, double now, std::vector<StepCommand>& out) override;
  double NextTick() const override { return std::numeric_limits<double>::infinity(); }
  double vector_fraction() const override { return code_->vector_fraction; }
  bool wants_progress() const override { return false; }

 private:
  // One vector to come, in another's place.
  struct Piece {
    RowId row;
    std::vector<PartitionId> partitions;
  };
  struct Worker {
    double free_at = 0;  // As predicted; who is asked to make up for others.
    bool live = true;
    bool at_own = false;        // Its own row is under way,
    std::vector<Piece> others;  // or the first of these, if there are any.
  };

  void On(const VectorArrived& event);
  void On(const StepWorkerLost& event);
  void Occupy(WorkerId w, uint32_t count);
  void Give(WorkerId w, Piece piece);
  void Start(WorkerId w);
  bool HeldByLive(std::span<const PartitionId> partitions) const;
  void MakeUp(RowId row, std::span<const PartitionId> partitions);
  void Mend();

  std::shared_ptr<const StepSetting> setting_;
  std::shared_ptr<const RowCode> code_;
  std::vector<Worker> workers_;
  ArrivedRows arrived_;
  std::vector<bool> expected_;     // Rows that came or are under way.
  std::vector<uint32_t> missing_;  // By row: partitions that no vector covers yet.
  std::vector<StepCommand>* out_ = nullptr;
};

}  // namespace motley
